"""Kendall's tau-b between scores and labels."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.pairs import count_pairs

__all__ = ["kendall_tau"]


@measure("kendall_tau", "tau", bounded=False)
def kendall_tau(scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, *, empty: str = "nan") -> Values:
    r"""Tau-b of each list (Kendall, 1945): pairs in order less pairs out of order, from -1 to 1.

    .. math:: \tau_b = \frac{C - D}{\sqrt{(n_0 - n_s)(n_0 - n_l)}}

    with :math:`n_0` pairs, of which :math:`n_s` tie in score and :math:`n_l` in label. Where all scores
    or all labels are equal nothing can correlate: the value is nan.

    >>> kendall_tau([3.0, 2.0, 1.0], [2, 0, 1], [0, 3]).round(4)
    array([0.3333])
    """
    lists = MetricLists.of(scores, labels, offsets)
    right, wrong, tied, apart = count_pairs(lists, "average").T
    total = (right + wrong + tied) * apart
    with np.errstate(invalid="ignore"):
        return lists.blank((right - wrong) / np.sqrt(total), total == 0, empty)
