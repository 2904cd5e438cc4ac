"""Rank-biased precision."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.lists.gain import Gain
from rankloop.metrics.kernels.lists import Lists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["rbp", "rbp_residual"]


def rbp(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    p: float = 0.8,
    k: int | None = None,
    relevance_threshold: float = 1,
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
    pool_labels: ArrayLike | None = None,
    pool_offsets: ArrayLike | None = None,
) -> Values:
    r"""RBP of each list (Moffat & Zobel, 2008): what a reader gains who goes on with probability `p`.

    .. math:: \mathrm{RBP} = (1 - p) \sum_r p^{r - 1} \mathrm{rel}_r

    Ranks that were not shown could add up to `rbp_residual`.

    >>> rbp([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], p=0.5)
    array([0.625])
    >>> rbp_residual([0, 3], p=0.5)
    array([0.125])
    """
    lists = Lists(scores, labels, offsets, weight, pool_labels, pool_offsets)
    return per_list(lists, p=p, k=k, relevance_threshold=relevance_threshold, ties=ties, empty=empty)


def rbp_residual(offsets: ArrayLike, *, p: float = 0.8, k: int | None = None) -> Values:
    r"""What relevant documents below the end of each list (or below `k`) could add to its RBP.

    .. math:: (1 - p) \sum_{r > n} p^{r - 1} = p^n
    """
    return _persistence(p) ** np.minimum(np.diff(np.asarray(offsets, np.int64)), cutoff(k)).astype(np.float64)


@measure(rbp, "rbp", reads="top")
def per_list(
    lists: Lists, *, p: float, k: int | None, relevance_threshold: float, ties: str, empty: str
) -> Values:
    depth = min(cutoff(k), int(np.diff(lists.offsets).max(initial=0)))
    shares = 1 - _persistence(p) ** np.arange(depth + 1.0)
    made = rank_sums(lists, ties, k, Gain.binary(relevance_threshold), shares)
    return lists.blank(made, lists.relevant(relevance_threshold).number == 0, empty)


def _persistence(p: float) -> float:
    if not 0 < p < 1:
        raise ValueError(f"p is the chance to go on to the next document, between 0 and 1, got {p!r}")
    return float(p)
