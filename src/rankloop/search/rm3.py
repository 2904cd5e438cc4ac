"""Pseudo-relevance feedback: a query that learns words from its first results."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.search.bm25 import Leaf
from rankloop.search.candidates import Candidates
from rankloop.search.deadline import Deadline
from rankloop.search.index.expand import Expander
from rankloop.search.index.match import allowed_documents
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.retriever import WORDS, Retriever
from rankloop.search.stage import Stage
from rankloop.search.text.query import Query, as_query

__all__ = ["relevance_model", "rm3"]


class rm3(Stage):  # noqa: N801 - starts a pipeline as a retriever does: rm3(index.retriever()) >> ...
    r"""A retriever that searches twice: the second time with words of the first results (RM3).

    .. math:: P'(w) = \lambda P(w \mid q) + (1 - \lambda) \sum_{d} P(w \mid d)
        \frac{\mathrm{score}(d)}{\sum_{d'} \mathrm{score}(d')}

    Lavrenko & Croft (2001), Abdul-Jaleel et al. (2004). The first `documents` results give in each searched
    field the `terms` words of the highest probability; words in more than the share `common` of all
    documents are no help and are left out. `lambda_` is the share of the query as typed. Filters, excluded
    and required words hold for both searches. It searches by words: leave vectors to a retriever of their
    own. It is saved with its pipeline.

    >>> import tempfile
    >>> from rankloop.search import Index
    >>> index = Index.create(tempfile.mkdtemp() + "/x", fields={"title": "text"})
    >>> texts = ["red crimson shoes", "red crimson", "crimson hat", "blue hat"]
    >>> _ = index.add({"id": i, "title": text} for i, text in enumerate(texts))
    >>> index.commit()
    >>> rm3(index.retriever(), documents=2, common=1.0)("red").ids  # and what is called crimson
    array([1, 0, 2])
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        documents: int = 10,
        terms: int = 20,
        lambda_: float = 0.5,
        common: float = 0.1,
    ) -> None:
        if not isinstance(retriever, Retriever):
            raise ValueError(
                f"rm3 takes index.retriever(...), whose search it repeats, got {type(retriever).__name__}"
            )
        if retriever.sort is not None:
            raise ValueError("rm3 orders by score; give retriever(sort=None)")
        if retriever.vectors or not retriever.words:
            raise ValueError("rm3 learns words for a search by words; give retriever(vectors={})")
        if documents < 1 or terms < 1:
            raise ValueError(f"rm3 needs at least 1 document and 1 term, got {documents} and {terms}")
        if not (0 <= lambda_ <= 1 and 0 < common <= 1):
            raise ValueError(f"lambda_ is 0 to 1 and common above 0 to 1, got {lambda_} and {common}")
        self.retriever, self.documents, self.terms = retriever, documents, terms
        self.lambda_, self.common = lambda_, common

    @property
    def settings(self) -> dict[str, float]:
        """What it was made with, besides the retriever."""
        return {name: getattr(self, name) for name in ("documents", "terms", "lambda_", "common")}

    def __repr__(self) -> str:
        return f"rm3({self.retriever!r}, documents={self.documents}, terms={self.terms})"

    def __call__(self, given: str | Query, *, deadline: Deadline | None = None) -> Candidates:
        """The candidates of the second search; those of the first where it found nothing to learn from."""
        first = self.retriever(given, deadline=deadline)
        if not len(first) or not first.leaves:
            return first
        top = range(min(self.documents, len(first)))
        leaves = self._expanded(first.take(top))
        source, snapshot = self.retriever, first.snapshot
        query = as_query(given, snapshot.fields).at_most(source.clauses)
        allowed = allowed_documents(
            Expander(query, snapshot, source.expansions),
            tuple(source.model.weights(snapshot)),
            source.filters or {},
            source.match,
            source.typos,
        )
        found = source.model.top(snapshot, leaves, allowed, source.k, first.query.check_time)
        return Candidates(
            first.query,
            snapshot,
            found.rows,
            found.scores,
            sources={WORDS: found.scores},
            ranks={WORDS: np.arange(1, len(found.rows) + 1, dtype=np.int32)},
            leaves=first.leaves,  # what is marked in snippets: the words of the reader
            matches=found.matches,
        )

    def _expanded(self, some: Candidates) -> list[Leaf]:
        """The leaves of the second search: those of the first and the learned ones, as heavy together."""
        snapshot, leaves = some.snapshot, []
        for field in self.retriever.model.weights(snapshot):
            typed = [leaf for leaf in some.leaves if leaf.field == field]
            mass = sum(leaf.weight for leaf in typed)
            learned = relevance_model(snapshot, field, some.rows, some.scores, self.terms, self.common)
            keep = self.lambda_ if learned else 1.0
            for leaf in typed:
                extra = learned.pop(leaf.term, 0.0) if leaf.df is None else 0.0
                leaves.append(leaf._replace(weight=keep * leaf.weight + (1 - keep) * mass * extra))
            leaves += [Leaf(field, term, (1 - keep) * mass * chance) for term, chance in learned.items()]
        named = [leaf for leaf in some.leaves if leaf.field not in self.retriever.model.weights(snapshot)]
        return [leaf for leaf in [*leaves, *named] if leaf.weight > 0]


def relevance_model(
    snapshot: Snapshot, field: int, rows: Ints, scores: Floats, terms: int, common: float
) -> dict[str, float]:
    """The `terms` likeliest words of a text field of given documents, with probabilities that sum to 1."""
    chances: Mapping[str, float] = _chances(snapshot, field, rows, scores / max(scores.sum(), 1e-300))
    most = common * snapshot.n_documents
    rare = {term: chance for term, chance in chances.items() if snapshot.df(field, term) <= most}
    best: Sequence[str] = sorted(rare, key=lambda term: (-rare[term], term))[:terms]
    total = sum(rare[term] for term in best)
    return {term: rare[term] / total for term in best} if total > 0 else {}


def _chances(snapshot: Snapshot, field: int, rows: Ints, weight: Floats) -> dict[str, float]:
    """The weighted mean of the word frequencies of documents, each over its length."""
    chances: dict[str, float] = defaultdict(float)
    for segment, inside in snapshot.by_segment(rows):
        documents = rows[inside] - segment.base
        segment.touch_forward(documents)
        offsets, numbers, tf = segment.forward.offsets, segment.forward.terms, segment.forward.tf
        for at, document in zip(inside.tolist(), documents.tolist(), strict=True):
            row = field * segment.documents + document
            length = int(segment.lengths[field, document])
            for entry in range(int(offsets[row]), int(offsets[row + 1])):
                chances[segment.term_text(int(numbers[entry]))] += weight[at] * int(tf[entry]) / length
    return chances
