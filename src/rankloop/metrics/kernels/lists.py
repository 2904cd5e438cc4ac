"""Checked lists with what metrics share: rankings, counts of relevant documents, best orders."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Bools, Floats, Ints, Singles
from rankloop._jit import over_lists
from rankloop._names import one_of
from rankloop.lists import Lists, Ranked, check_offsets, top_lists
from rankloop.lists.lists import check_weight
from rankloop.metrics.kernels.columns import Column
from rankloop.metrics.kernels.holes import Holes
from rankloop.metrics.kernels.relevant import Relevant, count_relevant

__all__ = ["EMPTY", "TIES", "MetricLists", "Values", "cutoff"]

Values = Floats

T = TypeVar("T")

TIES = ("average", "stable", "worst")
NO_WEIGHT = np.zeros(0, np.float32)
EMPTY = {"nan": np.nan, "zero": 0.0, "one": 1.0}


class MetricLists(Lists):
    """Scores and labels of many lists, ranked once for all metrics that ask.

    `pool_labels` and `pool_offsets` hold every judged label of each list, retrieved or not: the best
    order and the number of relevant documents are taken from them. `tie_break` orders documents with
    equal scores: the larger key first. `judged` says of each document whether it was judged, `pool_judged`
    the same of the pool (see `Holes`); the label of a document that was not is 0, whatever is given.
    `subtopics` has a row per document and a column per subtopic.

    >>> lists = MetricLists([0.2, 0.9, 0.5], [0, 1, 2], [0, 3])
    >>> lists.ranked("average", 2).labels[:2]
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        weight: Column = None,
        pool_labels: Column = None,
        pool_offsets: Column = None,
        tie_break: Column = None,
        judged: Column = None,
        pool_judged: Column = None,
        subtopics: Column = None,
    ) -> None:
        super().__init__(scores, labels, offsets, weight)
        self.holes = Holes.of(judged, len(self.labels), "judged")
        if self.holes.marks is not None:
            self.labels = self.holes.filled(self.labels)
            self.highest = float(self.labels.max(initial=0))
        self.subtopics = check_subtopics(subtopics, len(self.labels))
        self.pool_labels, self.pool_offsets, self.pool_weight = self.labels, self.offsets, self.weight
        if (pool_labels is None) != (pool_offsets is None):
            raise ValueError("pool_labels and pool_offsets come together; give both or neither")
        self.pool_holes = self.holes
        if pool_labels is not None and pool_offsets is not None:
            self._take_pool(pool_labels, pool_offsets)
            self.pool_holes = Holes.of(pool_judged, len(self.pool_labels), "pool_judged")
            self.pool_labels = self.pool_holes.filled(self.pool_labels)
        elif pool_judged is not None:
            raise ValueError("pool_judged comes with pool_labels; judged is for the documents of the lists")
        if tie_break is not None:
            self._arrange(np.asarray(tie_break))
        self._ranked: dict[str, Ranked] = {}
        self._shared: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, scores: "ArrayLike | MetricLists", *columns: Any, **more: Any) -> "MetricLists":
        """The lists of a metric's arguments; lists that are checked already (see `over`) pass through."""
        return scores if isinstance(scores, MetricLists) else cls(scores, *columns, **more)

    def ranked(self, ties: str, depth: int | None = None) -> Ranked:
        """The lists by falling score, at least to `depth` (and through the tie that straddles it)."""
        one_of("ties", ties, TIES)
        known = self._ranked.get(ties)
        if known is None or not known.reaches(depth):
            columns = self.scores, self.labels, self.weight
            if ties == "worst":
                order = self.lowest_first()
                weight = self.weight[order] if len(self.weight) else self.weight
                columns = self.scores[order], self.labels[order], weight
            known = top_lists(*columns, self.offsets, depth, average=ties == "average")
            self._ranked[ties] = known
        return known

    def ranked_states(self, ties: str) -> Ranked:
        """The same order whole, with states for labels: the label, or -1 (not judged) or -2 (not pooled)."""
        one_of("ties", ties, TIES)

        def make() -> Ranked:
            scores, states = self.scores, self.holes.states(self.labels)
            if ties == "worst":
                rows = np.lexsort((states, self._list_of_row()))
                scores, states = scores[rows], states[rows]
            return top_lists(scores, states, NO_WEIGHT, self.offsets, average=ties == "average")

        return self.shared(("states", ties), make)

    def relevant(self, relevance_threshold: float) -> Relevant:
        """The number of relevant judged documents of each list, and the sum of their weights."""
        if not relevance_threshold > 0:
            raise ValueError(
                f"relevance_threshold must be above 0, got {relevance_threshold!r}; label 0 is irrelevant"
            )
        return self.shared(
            ("relevant", relevance_threshold),
            lambda: count_relevant(
                self.pool_labels, self.pool_weight, self.pool_offsets, relevance_threshold
            ),
        )

    def shared(self, name: Hashable, make: Callable[[], T]) -> T:
        """What several metrics need, made once."""
        if name not in self._shared:
            self._shared[name] = make()
        return cast(T, self._shared[name])

    def fill(self, kernel: Callable[..., None], *columns: Any) -> Values:
        """One value per list from a kernel called as `kernel(*columns, values, first, last)`."""
        values = np.empty(self.n_lists)
        over_lists(lambda first, last: kernel(*columns, values, first, last), self.offsets)
        return values

    def blank(self, values: Values, nothing: Bools, empty: str) -> Values:
        """The values, with what `empty` says where a list has nothing relevant."""
        values[nothing] = EMPTY[one_of("empty", empty, EMPTY)]
        return values

    def _take_pool(self, labels: ArrayLike, offsets: ArrayLike) -> None:
        if len(self.weight):
            raise ValueError(
                "weight and pool_labels cannot be combined: judged documents outside the lists have no weight"
            )
        self.pool_offsets = check_offsets(offsets, "pool_offsets")
        if len(self.pool_offsets) != len(self.offsets):
            raise ValueError(
                f"pool_offsets describes {len(self.pool_offsets) - 1} lists, offsets {self.n_lists}; "
                "both follow the same queries"
            )
        self.pool_labels = check_weight(labels, self.pool_offsets, "pool_labels")

    def _arrange(self, key: Array) -> None:
        """Put the rows of each list in the order of their keys, which a stable sort then keeps."""
        if key.ndim != 1 or len(key) != len(self.scores):
            raise ValueError(
                f"tie_break needs one key per document ({len(self.scores)}), got shape {key.shape}"
            )
        order = np.lexsort((-np.unique(key, return_inverse=True)[1], self._list_of_row()))
        pooled = self.pool_labels is not self.labels
        self.scores, self.labels = self.scores[order], self.labels[order]
        self.subtopics = self.subtopics[order]
        holes, self.holes = self.holes, self.holes.take(order)
        if len(self.weight):
            self.weight = self.weight[order]
        if not pooled:
            self.pool_labels, self.pool_weight = self.labels, self.weight
        if self.pool_holes is holes:
            self.pool_holes = self.holes

    def lowest_first(self) -> Ints:
        """The rows of each list by rising label, then weight: ties in that order are at their worst."""
        by = (self.labels, self._list_of_row())
        return np.lexsort((self.weight, *by) if len(self.weight) else by)

    def _list_of_row(self) -> Ints:
        return self.spread(np.arange(self.n_lists))


def check_subtopics(given: ArrayLike | None, documents: int) -> Singles:
    """A row per document and a column per subtopic: how far the document is relevant to it, 0 if not."""
    if given is None:
        return np.zeros((documents, 0), np.float32)
    array = np.asarray(given)
    if array.ndim != 2 or len(array) != documents or array.dtype.kind not in "fiub":
        raise ValueError(
            f"subtopics is a matrix of numbers with one row per document ({documents}) and one column per "
            f"subtopic, got {array.dtype} of shape {array.shape}"
        )
    made = np.ascontiguousarray(array, np.float32)
    if not (np.isfinite(made).all() and made.min(initial=0) >= 0):
        row, column = np.argwhere(~(np.isfinite(made) & (made >= 0)))[0].tolist()
        raise ValueError(
            f"subtopics must be finite and >= 0, got {made[row, column]:g} in row {row}, subtopic {column}"
        )
    return made


def cutoff(k: int | None) -> int:
    """A cut-off as a number: at least 1, and beyond every list when there is none."""
    if k is None:
        return int(np.iinfo(np.int64).max)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1 (or None for whole lists), got {k!r}")
    return int(k)
