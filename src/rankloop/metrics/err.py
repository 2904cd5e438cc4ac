"""Expected reciprocal rank."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.lists import Gain, gains
from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.stopping import stopping

__all__ = ["err"]

ANY = float(np.finfo(np.float32).smallest_subnormal)  # a label above 0


@measure("err", reads="top")
def err(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    max_label: float | None = None,
    gain: str = "exp2",
    ties: str = "average",
    empty: str = "nan",
    **columns: Unpack[WeightedPool],
) -> Values:
    r"""ERR of each list (Chapelle et al., 2009): the expected reciprocal rank where a reader stops.

    .. math:: \mathrm{ERR@k} = \sum_{r \le k} \frac{1}{r} R_r \prod_{i < r} (1 - R_i),\quad
        R = \frac{2^l - 1}{2^{l_{\max}}}

    `max_label` is the best grade of the data set, not of a list: when it is not given it is the largest
    label of all lists given (and of their pools), so set it when you evaluate parts of a data set.

    With `gain="linear"` a reader stops with probability label / max_label.

    >>> err([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], max_label=1).round(4)
    array([0.5833])
    """
    lists = MetricLists.of(scores, labels, offsets, **columns)
    largest = max(float(lists.labels.max(initial=0)), float(lists.pool_labels.max(initial=0)))
    if max_label is None:
        max_label = largest
    elif not largest <= max_label < np.inf:
        raise ValueError(f"max_label is {max_label:g} but there is a label {largest:g}; give the best grade")
    if not isinstance(gain, str):
        raise ValueError("the gain of err is 'exp2' or 'linear': a table has no probabilities")
    best = float(np.exp2(max_label)) if gain == "exp2" else max(max_label, 1e-300)
    if len(lists.weight) and _largest_gain(lists, gain) > best:
        raise ValueError(
            f"weight × gain / 2^max_label is a probability, got {_largest_gain(lists, gain) / best:g}; "
            "give a larger max_label or smaller weights"
        )
    made = stopping(lists, k, ties, Gain.of(gain, np.array([max_label], np.float32)), 1 / best, _reciprocal)
    return lists.blank(made, lists.relevant(ANY).number == 0, empty)


def _largest_gain(lists: MetricLists, gain: str) -> float:
    return float(np.max(lists.weighted(gains(lists.labels, gain)), initial=0))


def _reciprocal(rank: Floats) -> Floats:
    return 1 / rank
