"""What metrics over relevant documents within a cut-off take, and what they count."""

from typing import Any, TypedDict, Unpack

import numpy as np

from rankloop._arrays import Ints
from rankloop._options import passes_to
from rankloop.metrics.kernels.columns import Columns, JudgedPool, WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.rank_sums import found_within
from rankloop.metrics.kernels.relevant import Relevant

__all__ = ["AtRank", "JudgedRelevant", "TopRelevant", "WeightedAtRank", "WeightedRelevant", "depths"]


class OfRelevant(TypedDict, total=False):
    """Options of a metric that looks for relevant documents.

    Labels from `relevance_threshold` on are relevant; `ties` is "average", "stable" or "worst"; `empty` is
    the value of a list with nothing relevant: "nan", "zero" or "one".
    """

    relevance_threshold: float
    ties: str
    empty: str


class WeightedRelevant(OfRelevant, WeightedPool, total=False):
    """The same with item weights and pools."""


class JudgedRelevant(OfRelevant, JudgedPool, total=False):
    """The same where not every document is judged."""


class AtRank(OfRelevant, total=False):
    """Options of a metric that looks for relevant documents in the first `k` ranks."""

    k: int | None


class WeightedAtRank(AtRank, WeightedPool, total=False):
    """The same with item weights and pools."""


class TopRelevant:
    """Lists with the options of a metric that looks for relevant documents, `AtRank` or without a cut-off."""

    @passes_to(MetricLists.__init__)
    def __init__(
        self,
        *lists: Any,
        k: int | None = None,
        relevance_threshold: float = 1,
        ties: str = "average",
        empty: str = "nan",
        **columns: Unpack[Columns],
    ) -> None:
        self.lists = MetricLists.of(*lists, **columns)
        self.k, self.relevance_threshold, self.ties, self.empty = k, relevance_threshold, ties, empty

    @property
    def total(self) -> Relevant:
        """The number and weight of the relevant documents of each list."""
        return self.lists.relevant(self.relevance_threshold)

    @property
    def depths(self) -> Ints:
        """How many ranks of each list count."""
        return depths(self.lists, self.k)

    def found(self) -> Values:
        """Per list the expected number (or weight) of relevant documents within the cut-off."""
        return found_within(self.lists, self.ties, self.relevance_threshold, self.depths)

    def blank(self, values: Values) -> Values:
        """The values, with what `empty` says where a list has nothing relevant."""
        return self.lists.blank(values, self.total.number == 0, self.empty)


def depths(lists: MetricLists, k: int | None) -> Ints:
    """How many ranks of each list count: k, or all of its documents."""
    return np.diff(lists.offsets) if k is None else np.full(lists.n_lists, cutoff(k), np.int64)
