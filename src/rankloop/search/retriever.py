"""From a query to candidates: by words, by vectors, or both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bytes, Floats, Ints, Ints32, Singles
from rankloop._names import one_of
from rankloop.search.bm25 import BM25, Contribution, Found, Leaf
from rankloop.search.bm25f import BM25F
from rankloop.search.candidates import Candidates
from rankloop.search.deadline import Deadline
from rankloop.search.index.expand import MOST, Expander
from rankloop.search.index.listed import listed
from rankloop.search.index.match import Filters, allowed_documents, leaves_of, matching_documents
from rankloop.search.index.sort_field import sort_field
from rankloop.search.index.understand import understand
from rankloop.search.index.vectors import nearest, similarities
from rankloop.search.stage import Stage
from rankloop.search.text.query import Query, as_query
from rankloop.search.tune_weights import tune_weights, warn_of_weak_lists

if TYPE_CHECKING:
    from rankloop.search.index.snapshot import Snapshot
    from rankloop.search.searchable import Searchable

__all__ = ["WORDS", "Encoder", "Retriever", "unit_scores"]

WORDS = "words"
Encoder = Callable[[str], ArrayLike]
_PLAIN = BM25()


@dataclass(frozen=True, eq=False)
class Retriever(Stage):
    """A stage from a query to its k best candidates; made by `index.retriever(...)`.

    Words are scored by `model`. `vectors` maps vector fields to encoders of the query text (None where the
    `Query` brings its vectors). With both, each source lists its k best; every document of the pool is scored
    by every source, the scores are fused, and the best k remain. `fusion` is "weighted" (the weighted sum of
    scores, each brought to 0..1 over the pool) or "rrf" (reciprocal rank fusion). `match` is "any" or "all"
    words; `typos` is "never", "missing" (correct words that the index does not have) or "always" (words near
    any word count too). A misspelt query has the candidates of the corrected one, which is theirs; a prefix
    finds all words that it begins, and their query has the likeliest of them.

    `sort` is a number or date field, with a minus for the largest first: the first k of all documents that
    match by words, those without a value last. An empty query finds all documents that pass the filters, and
    all there are with `filters={}`; without any, it finds nothing.

    The first `clauses` different words and conditions of a query count; a prefix or a misspelt word stands
    for at most `expansions` words, and all of them in a field for twenty times as many. `query.cut` of the
    candidates says what was left out.
    """

    index: "Searchable"
    k: int = 1000
    model: BM25 | BM25F = _PLAIN
    match: str = "any"
    typos: str = "never"
    filters: Filters | None = None
    vectors: Mapping[str, Encoder | None] | None = None
    fusion: str = "weighted"
    weights: Mapping[str, float] | None = None
    words: bool = True
    clauses: int = 256
    expansions: int = MOST
    sort: str | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"a retriever gives at least k=1 candidates, got {self.k}")
        if self.clauses < 1 or self.expansions < 1:
            raise ValueError(
                f"clauses and expansions are at least 1, got {self.clauses} and {self.expansions}"
            )
        one_of("match", self.match, ("any", "all"))
        one_of("typos", self.typos, ("never", "missing", "always"))
        one_of("fusion", self.fusion, ("weighted", "rrf"))
        snapshot = self.index.snapshot
        self.model.weights(snapshot)
        sort_field(self.sort, snapshot.fields)
        sources = [*([WORDS] if self.words else []), *(self.vectors or {})]
        for name in self.vectors or {}:
            one_of("vector field", name, [n for n, f in snapshot.fields.items() if f.kind == "vector"])
        if not sources:
            raise ValueError(
                "a retriever searches by words, by vectors, or both; give vectors={field: encoder}"
            )
        for name in self.weights or {}:
            one_of("source", name, sources)

    @property
    def sources(self) -> int:
        """The number of sources: words, and each vector field."""
        return int(self.words) + len(self.vectors or {})

    def __repr__(self) -> str:
        return f"{self.index!r}.retriever(k={self.k})"

    def bare(self) -> Self:
        """The same retriever for ids and scores alone, which are all that a run has of words."""
        return self

    def __call__(self, given: str | Query, *, deadline: Deadline | None = None) -> Candidates:
        """The candidates for a query, best first; past the deadline a `DeadlineExceeded` is raised."""
        snapshot = self.index.snapshot
        typed = self._expander(given, snapshot, deadline)
        fields = tuple(self.model.weights(snapshot))
        query = self._understood(given, typed, fields)
        expander = typed if query.typed is None else Expander(query.finding, snapshot, self.expansions)
        leaves = leaves_of(expander, fields, self.typos)
        if cut := dict.fromkeys((*expander.cut, *typed.ended)):
            query = replace(query, cut=(*query.cut, *cut))
        empty = Candidates(query, snapshot, np.empty(0, np.int64), np.empty(0), leaves=tuple(leaves))
        order = sort_field(self.sort, snapshot.fields)
        if not query.clauses and not query.vectors and self.filters is None and order is None:
            return empty
        allowed = allowed_documents(expander, fields, self.filters or {}, self.match, self.typos)
        if order is not None:
            return self._sorted(empty, expander, allowed, order)
        lists: dict[str, Found] = {}
        if self.words and leaves:
            lists[WORDS] = self.model.top(snapshot, leaves, allowed, self.k, query.check_time)
        vectors = self._query_vectors(query)
        for name, vector in vectors.items():
            query.check_time()
            rows, scores = nearest(snapshot, name, vector, self.k, allowed)
            lists[name] = Found(rows, scores, len(rows))
        if not lists:
            return self._unscored(empty, allowed)
        if len(lists) == 1:
            name, found = next(iter(lists.items()))
            ranks = {name: np.arange(1, len(found.rows) + 1, dtype=np.int32)}
            sources = {name: found.scores}
            return Candidates(
                query, snapshot, found.rows, found.scores, sources, ranks, {}, empty.leaves, found.matches
            )
        return self._fused(empty, lists, vectors)

    def looked_up(self, given: str | Query, ids: Iterable[Any]) -> Candidates:
        """Given documents as candidates, unscored and in their order; unknown ids are left out."""
        return Candidates.of(self.understood(given), self.index.snapshot, ids)

    def understood(self, given: str | Query) -> Query:
        """The query with misspelt words corrected, as `typos` says, and unfinished ones completed."""
        expander = self._expander(given, self.index.snapshot)
        return self._understood(given, expander, self.model.weights(expander.snapshot))

    def score(self, given: str | Query, ids: Sequence[Any]) -> Floats:
        """The word scores of given documents; nan for those that are not in the index."""
        found = self.looked_up(given, ids)
        snapshot = found.snapshot
        known = snapshot.rows_of([str(id) for id in ids])
        scores = np.full(len(known), np.nan)
        scores[known >= 0] = self.model.score(snapshot, self._leaves(found), known[known >= 0])
        return scores

    def explain(self, given: str | Query, id: Any) -> list[Contribution]:
        """What each term in each field adds to the word score of a document; it sums to the score."""
        found = self.looked_up(given, [id])
        if not len(found):
            raise ValueError(f"no document {id!r} in {self.index!r}")
        return self.model.explain(found.snapshot, self._leaves(found), int(found.rows[0]))

    def tune(
        self, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]], *, k: int = 10
    ) -> "Retriever":
        """The same retriever with fusion weights that rank judged queries best (NDCG@k).

        Warns when `fusion="rrf"` mixes lists of unequal quality; `judgments` is query -> document -> grade.
        """
        pools, labels = self.judged_pools(queries, judgments)
        if not pools:
            raise ValueError("tune needs judged queries that more than one source answers; got none")
        weights, quality = tune_weights(pools, labels, k=k)
        if self.fusion == "rrf":
            warn_of_weak_lists(quality)
        return replace(self, weights=weights)

    def judged_pools(
        self, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]]
    ) -> tuple[list[dict[str, Floats]], list[list[float]]]:
        """The summands of fusion for each judged query that more than one source answers, and the labels."""
        pools, labels = [], []
        for name, query in queries.items():
            found = self(query) if name in judgments else None
            if found is not None and len(found.sources) > 1:
                grades = {str(id): grade for id, grade in judgments[name].items()}
                labels.append([grades.get(str(id), 0.0) for id in found.ids.tolist()])
                pools.append(self._summands(found.sources, found.ranks))
        return pools, labels

    def _leaves(self, found: Candidates) -> list[Leaf]:
        """The terms that score documents which were looked up."""
        snapshot = found.snapshot
        expander = Expander(found.query.finding, snapshot, self.expansions)
        return leaves_of(expander, tuple(self.model.weights(snapshot)), self.typos)

    def _expander(
        self, given: str | Query, snapshot: "Snapshot", deadline: Deadline | None = None
    ) -> Expander:
        """The expansions of a query as it was typed."""
        query = as_query(given, snapshot.fields)
        query = (query.typed or query).at_most(self.clauses)
        if deadline is not None:
            query = replace(query, deadline=deadline)
        return Expander(query, snapshot, self.expansions)

    def _understood(self, given: str | Query, expander: Expander, fields: Iterable[int]) -> Query:
        if isinstance(given, Query) and given.typed is not None:  # by an earlier search
            return replace(given, deadline=expander.query.deadline)
        return understand(expander, fields, self.typos)

    def _query_vectors(self, query: Query) -> dict[str, Singles]:
        found = {}
        for name, encode in (self.vectors or {}).items():
            field = self.index.snapshot.fields[name]
            if name in query.vectors:
                found[name] = field.convert(query.vectors[name])
            elif encode is not None:
                if query.plain:
                    found[name] = field.convert(encode(query.plain))
            else:
                raise ValueError(
                    f"no vector for field {name!r}: give an encoder, or Query(vectors={{{name!r}: ...}})"
                )
        return found

    def _fused(
        self, empty: Candidates, lists: Mapping[str, Found], vectors: Mapping[str, Singles]
    ) -> Candidates:
        snapshot = empty.snapshot
        pool = np.unique(np.concatenate([found.rows for found in lists.values()]))
        sources, ranks = {}, {}
        for name, found in lists.items():
            rank = np.zeros(len(pool), np.int32)
            rank[np.searchsorted(pool, found.rows)] = np.arange(1, len(found.rows) + 1)
            ranks[name] = rank
            if name == WORDS:
                sources[name] = self.model.score(snapshot, empty.leaves, pool)
            else:
                sources[name] = similarities(snapshot, name, vectors[name], pool)
        fused = np.zeros(len(pool))
        for name, part in self._summands(sources, ranks).items():
            fused += part if self.weights is None else self.weights.get(name, 0.0) * part
        matches = max(found.matches for found in lists.values())
        whole = replace(empty, rows=pool, scores=fused, sources=sources, ranks=ranks, matches=matches)
        return whole.scored(fused).take(range(min(self.k, len(pool))))

    def _summands(self, sources: Mapping[str, Floats], ranks: Mapping[str, Ints32]) -> dict[str, Floats]:
        """What each source adds to the fused score of each document at weight 1."""
        if self.fusion == "weighted":
            return {name: unit_scores(values) for name, values in sources.items()}
        from rankloop.rankers.fuse import rrf  # scikit-learn is slow to load, and not needed otherwise

        last = max(1, *(int(rank.max(initial=0)) for rank in ranks.values()))
        by_rank = np.concatenate(([0.0], rrf([-np.arange(1, last + 1)], [0, last])))  # 0: not in the list
        return {name: by_rank[rank] for name, rank in ranks.items()}

    def _sorted(
        self, empty: Candidates, expander: Expander, allowed: list[Bytes], order: tuple[str, bool]
    ) -> Candidates:
        """The documents that match, in the order of a field."""
        leaves, snapshot = empty.leaves, empty.snapshot
        if not leaves:
            return self._unscored(empty, allowed, order)
        which = matching_documents(expander, leaves, allowed)

        def score(rows: Ints) -> Floats:
            return self.model.score(snapshot, leaves, rows)

        rows, scores, matches = listed(snapshot, which, self.k, order, score, empty.query.check_time)
        return replace(empty, rows=rows, scores=scores, sources={WORDS: scores}, matches=matches)

    def _unscored(
        self, empty: Candidates, allowed: list[Bytes], order: tuple[str, bool] | None = None
    ) -> Candidates:
        """For filters and exclusions alone: the first documents that pass."""
        clauses = empty.query.clauses
        if clauses and not any(one.kind in ("value", "range") or one.excluded for one in clauses):
            return empty
        rows, scores, matches = listed(empty.snapshot, allowed, self.k, order)
        return replace(empty, rows=rows, scores=scores, matches=matches)


def unit_scores(values: Floats) -> Floats:
    """Scores brought to 0..1 over the pool; equal ones become 1, and nan becomes 0."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(len(values))
    low, high = known.min(), known.max()
    scaled = (values - low) / (high - low) if high > low else np.where(np.isnan(values), np.nan, 1.0)
    return np.nan_to_num(scaled, nan=0.0)
