"""Candidates from an engine on another machine."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

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

SAMPLE = 50  # documents in which misspelt and unfinished words are looked up


@dataclass(frozen=True, eq=False)
class RemoteRetriever(Retriever):
    """A stage from a query to the k best documents of an engine; made by `engine.retriever(...)`.

    The field weights are those of `model`; its other parameters are the engine's. With `typos="missing"`
    words that no document has are corrected before the search. Vectors are compared by `Features`, not by
    the engine. `described=False` gives ids and scores alone, of documents that nobody reads: for runs.
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
        if deadline is not None:
            query = replace(query, deadline=deadline)
        query.check_time()
        query = self.understood(query)
        query.check_time()
        answer = engine.found(
            query.finding,
            self.k,
            filters=self.filters,
            model=self.model,
            match=self.match,
            typos="always" if self.typos == "always" else "never",  # missing words are corrected by now
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
        expander = Expander(query, snapshot, self.expansions)
        return replace(
            found,
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
        return self.index.candidates(self.understood(given), [str(id) for id in ids])

    def understood(self, given: str | Query) -> Query:
        """The query with misspelt words corrected, as `typos` says, and unfinished ones completed.

        Words are those of the local index; without one, those of documents that the engine finds for words
        like them, which takes a request more where a word is misspelt or unfinished.
        """
        query = as_query(given, self.index.fields)
        if query.typed is not None:  # by an earlier search
            return query
        query = query.at_most(self.clauses)
        if self.index.local is not None:
            found = self._understood_by(self.index.local.snapshot, query)
            known = found.understood is not None and not self._misspelt(query)
            return query if known and not _unfinished(query) else found  # a word that came later is no typo
        if not _unfinished(query) and not self._misspelt(query):
            return query
        answer = self.index.found(query, SAMPLE, model=self.model, match="any", typos=self.typos)
        return self._understood_by(self.index.candidates(query, answer.ids, answer.documents).snapshot, query)

    def _understood_by(self, snapshot: Snapshot, query: Query) -> Query:
        return understand(
            Expander(query, snapshot, self.expansions), self.model.weights(snapshot), self.typos
        )

    def _misspelt(self, query: Query) -> bool:
        """Whether a word is to be corrected, as the engine does not have it."""
        names = self.index.snapshot.text_fields
        fields = [names[at] for at in self.model.weights(self.index.snapshot)]
        return self.typos != "never" and bool(self.index.misspelt(query, fields, "missing"))


def _unfinished(query: Query) -> bool:
    return any(one.kind == "prefix" and not one.excluded for one in query.clauses)
