"""Rank-biased precision."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.lists import Gain
from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["persistence", "rbp"]


@measure("rbp", reads="top")
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
    **columns: Unpack[WeightedPool],
) -> Values:
    r"""RBP of each list (Moffat & Zobel, 2008): the reader continues with probability `p`.

    .. math:: \mathrm{RBP} = (1 - p) \sum_r p^{r - 1} \mathrm{rel}_r

    Documents below the end of a list could add up to `rbp_residual`.

    >>> rbp([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], p=0.5)
    array([0.625])
    """
    lists = MetricLists.of(scores, labels, offsets, **columns)
    depth = min(cutoff(k), lists.longest)
    shares = 1 - persistence(p) ** np.arange(depth + 1.0)
    made = rank_sums(lists, ties, k, Gain.binary(relevance_threshold), shares)
    return lists.blank(made, lists.relevant(relevance_threshold).number == 0, empty)


def persistence(p: float) -> float:
    """The parameter of RBP, checked."""
    if not 0 < p < 1:
        raise ValueError(f"p is the probability to continue to the next document, between 0 and 1, got {p!r}")
    return float(p)
