"""Discounted cumulative gain."""

from numpy.typing import ArrayLike

from rankloop.lists import Gain, ideal_dcg
from rankloop.lists.gain import GainOption
from rankloop.lists.ideal_dcg import discount_sums
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["dcg"]


@measure("dcg", reads="top", bounded=False)
def dcg(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    gain: GainOption = "exp2",
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
) -> Values:
    r"""DCG of each list (Järvelin & Kekäläinen, 2002): gains, discounted by the log of their rank.

    .. math:: \mathrm{DCG@k} = \sum_{r \le k} \frac{G(l_r)}{\log_2(1 + r)}

    >>> dcg([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).round(4)
    array([2.8928])
    """
    lists = MetricLists.of(scores, labels, offsets, weight)
    made = discounted_gain(lists, k, gain, ties)
    return lists.blank(made, best_gain(lists, k, gain) == 0, empty)


def discounted_gain(lists: MetricLists, k: int | None, gain: GainOption, ties: str) -> Values:
    """The DCG of each list; 0 where nothing is relevant."""
    cutoff(k)
    return rank_sums(lists, ties, k, Gain.of(gain, lists.labels), discount_sums(lists.offsets, k))


def best_gain(lists: MetricLists, k: int | None, gain: GainOption) -> Values:
    """The DCG of the best order of all judged documents of each list."""
    return lists.shared(
        ("best", k, str(gain)),
        lambda: ideal_dcg(lists.pool_labels, lists.pool_offsets, gain, k, lists.pool_weight),
    )
