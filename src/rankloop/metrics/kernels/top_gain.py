"""What metrics that discount gains by rank take, and the sums that they share."""

from typing import Any, TypedDict, Unpack

from rankloop._options import passes_to
from rankloop.lists import Gain, ideal_dcg
from rankloop.lists.gain import GainOption
from rankloop.lists.ideal_dcg import discount_sums
from rankloop.metrics.kernels.columns import Columns, JudgedPool, WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["GainAtRank", "JudgedGain", "TopGain", "WeightedGain"]


class GainAtRank(TypedDict, total=False):
    """Options of a metric that adds up gains in the first `k` ranks.

    `gain` is "exp2", "linear" or the gain of each grade; `ties` is "average", "stable" or "worst"; `empty` is
    the value of a list with nothing relevant: "nan", "zero" or "one".
    """

    k: int | None
    gain: GainOption
    ties: str
    empty: str


class WeightedGain(GainAtRank, WeightedPool, total=False):
    """The same with item weights and pools."""


class JudgedGain(GainAtRank, JudgedPool, total=False):
    """The same where not every document is judged."""


class TopGain:
    """Lists with the options of `GainAtRank`."""

    @passes_to(MetricLists.__init__)
    def __init__(
        self,
        *lists: Any,
        k: int | None = None,
        gain: GainOption = "exp2",
        ties: str = "average",
        empty: str = "nan",
        **columns: Unpack[Columns],
    ) -> None:
        cutoff(k)
        self.lists = MetricLists.of(*lists, **columns)
        self.k, self.gain, self.ties, self.empty = k, gain, ties, empty

    def found(self) -> Values:
        """The DCG of each list; 0 where nothing is relevant."""
        lists = self.lists
        gain, sums = Gain.of(self.gain, lists.labels, lists.highest), discount_sums(lists.offsets, self.k)
        return rank_sums(lists, self.ties, self.k, gain, sums)

    def best(self) -> Values:
        """The DCG of the best order of all judged documents of each list."""
        lists = self.lists
        highest = lists.highest if lists.pool_labels is lists.labels else None
        pool = lists.pool_labels, lists.pool_offsets, self.gain, self.k, lists.pool_weight
        return lists.shared(("best", self.k, str(self.gain)), lambda: ideal_dcg(*pool, highest=highest))
