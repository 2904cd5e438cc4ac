"""Candidates from an engine on another machine."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.engines.remote.fetched import Fetched
from rankloop.engines.remote.listed import Listed
from rankloop.engines.unsupported import Unsupported
from rankloop.search import Candidates, Deadline, Query, Retriever
from rankloop.search.index.expand import Expander
from rankloop.search.index.match import leaves_of
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.understand import understand
from rankloop.search.retriever import WORDS
from rankloop.search.text.query import as_query

if TYPE_CHECKING:
    from rankloop.engines.remote.remote_engine import RemoteEngine

__all__ = ["RemoteRetriever"]


@dataclass(frozen=True, eq=False)
class RemoteRetriever(Retriever):
    """A stage from a query to the k best documents of an engine; made by `engine.retriever(...)`.

    The field weights are those of `model`; its other parameters are the engine's. `typos="missing"` searches
    again with corrections if nothing is found. Vectors are compared by `Features`, not by the engine.
    `described=False` gives ids and scores alone, of documents that nobody reads: for runs.
    """

    index: "RemoteEngine"
    described: bool = True

    def __post_init__(self) -> None:
        if self.vectors or not self.words:
            raise Unsupported(
                f"{self.index!r} is searched by words; compare vectors with the feature similarity(field)"
            )
        super().__post_init__()

    def __call__(self, given: str | Query, *, deadline: Deadline | None = None) -> Candidates:
        """The candidates for a query, best first; the deadline is looked at before and after the engine."""
        engine = self.index
        query = as_query(given, engine.fields)
        if query.typed is None:
            query = query.at_most(self.clauses)
        if deadline is not None:
            query = replace(query, deadline=deadline)
        query.check_time()
        answer = engine.found(
            query.typed or query,
            self.k,
            filters=self.filters,
            model=self.model,
            match=self.match,
            typos=self.typos,
            sort=self.sort,
            described=self.described,
        )
        query.check_time()
        if not self.described:
            rows = np.arange(len(answer))
            listed = Listed(engine.schema, answer.ids)
            return Candidates(query, listed, rows, answer.scores, matches=answer.matches)
        found = engine.candidates(query, answer.ids, answer.documents)
        scores = answer.scores
        if len(found) < len(answer):  # some are gone since the engine answered
            place = {id: at for at, id in enumerate(answer.ids)}
            scores = scores[[place[str(id)] for id in found.ids.tolist()]]
        snapshot = found.snapshot
        query = self._understood_in(snapshot, query)
        expander = Expander(query, snapshot, self.expansions)
        return replace(
            found,
            query=query,
            scores=scores,
            sources={WORDS: scores},
            ranks={WORDS: np.arange(1, len(found) + 1, dtype=np.int32)},
            leaves=tuple(leaves_of(expander, tuple(self.model.weights(snapshot)), "never")),
            matches=answer.matches,
        )

    def bare(self) -> Self:
        """The same retriever for ids and scores alone."""
        return replace(self, described=False)

    def looked_up(self, given: str | Query, ids: Iterable[Any]) -> Candidates:
        """Given documents as candidates, unscored and in their order; unknown ids are left out."""
        found = self.index.candidates(as_query(given, self.index.fields), [str(id) for id in ids])
        return replace(found, query=self._understood_in(found.snapshot, found.query))

    def _understood_in(self, snapshot: Snapshot, query: Query) -> Query:
        """The query as it was understood: by the words of the local index, or of the documents that came.

        An engine that corrects nothing has not searched for other words than those typed.
        """
        if query.typed is None:
            typos = self.typos if self.index.corrects else "never"
            query = understand(
                Expander(query, snapshot, self.expansions), self.model.weights(snapshot), typos
            )
            if query.typed is not None and isinstance(snapshot, Fetched):
                snapshot.ask(query.plain)
        return query
