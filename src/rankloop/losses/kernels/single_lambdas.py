"""NDCG's and DCG's lambdas for boosted trees: the same pairs in single precision, two rows at a time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import over_lists
from rankloop.losses.kernels.ideal import discounts, grade_gains, ideal_of_grades
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.math import exp_negative, fast, inner, single_workspace
from rankloop.losses.kernels.order import LANES, descending

__all__ = ["SPAN", "ndcg_lambdas", "two_rows"]

SPAN = 40.0  # up to this span of sigma * score, all odds of a list fit single precision

Row = NDArray[np.float64]
Single = NDArray[np.float32]


def ndcg_lambdas(
    lists: Lists, gain: str | tuple[float, ...], *, normalise: bool, sigma: float, truncation: int
) -> tuple[Row, Row, bool]:
    """Gradient and Hessian; False beside them where scores span too much or labels are not grades."""
    gradient, hessian = np.empty(lists.n_documents), np.empty(lists.n_documents)
    longest = int(np.diff(lists.offsets).max(initial=0))
    discount = discounts(np.arange(1.0, longest + 1.0))
    table = grade_gains(gain)
    failed = np.zeros(lists.n_lists, np.bool_)

    def work(first: int, last: int) -> None:
        _force_lists(
            first, last, lists.scores, lists.labels, lists.offsets, discount, table,
            normalise, sigma, truncation, gradient, hessian, failed,
        )  # fmt: skip

    over_lists(work, lists.offsets)
    return gradient, hessian, not failed.any()


def two_rows(gapped: bool) -> Callable[..., None]:
    """Two rows of pairs, which near ones dominate where `gapped`: a pair is divided by near + |s_i - s_j|."""

    @inner
    def rows(
        i: int,
        n: int,
        both: bool,
        near: np.float32,
        fall: Single,
        odds: Single,
        gain: Single,
        gamma: Single,
        g: Single,
        h: Single,
    ) -> None:
        """Lambdas between ranks i and i + 1 (0-based) and all below; two rows share a division and memory.

        `fall` is how far each rank lies below the first. `h[k]` still lacks the factor `odds[k]`: the caller
        multiplies once, at the end.
        """
        one, none = np.float32(1.0), np.float32(0.0)
        a, b = np.uint64(i), np.uint64(i + 1)
        odds_a, odds_b, gain_a, gain_b = odds[a], odds[b], gain[a], gain[b]
        gamma_a, gamma_b, from_a, from_b = gamma[a], gamma[b], near - fall[a], near - fall[b]
        second = one if both else none
        p = one / (odds_a + odds_b)
        x = (gain_a - gain_b) * (gamma_a - gamma_b) / (from_a + fall[b] if gapped else one)
        f = x * p * (odds_b if x > none else odds_a)
        v = abs(x) * p * p
        force_a, bend_a, force_b, bend_b = f, v * odds_b, -f, v * odds_a
        for j in range(np.uint64(i + 2), np.uint64(n)):
            gap_a, gap_b = (from_a + fall[j], from_b + fall[j]) if gapped else (one, one)
            whole_a, whole_b = (odds_a + odds[j]) * gap_a, (odds_b + odds[j]) * gap_b
            inverse = one / (whole_a * whole_b)
            p_a, p_b = whole_b * inverse, whole_a * inverse
            x_a = (gain_a - gain[j]) * (gamma_a - gamma[j])
            x_b = (gain_b - gain[j]) * (gamma_b - gamma[j]) * second
            y_a, y_b = x_a * p_a, x_b * p_b
            f_a = y_a * (odds[j] if x_a > none else odds_a)
            f_b = y_b * (odds[j] if x_b > none else odds_b)
            v_a, v_b = abs(y_a) * (p_a * gap_a), abs(y_b) * (p_b * gap_b)
            g[j] += f_a + f_b
            h[j] += v_a * odds_a + v_b * odds_b
            force_a += f_a
            force_b += f_b
            bend_a += v_a * odds[j]
            bend_b += v_b * odds[j]
        g[a] -= force_a
        g[b] -= force_b
        h[a] += bend_a
        h[b] += bend_b

    return rows


_plain_rows = two_rows(gapped=False)


@fast
def _force_lists(
    first: int,
    last: int,
    scores: Row,
    labels: Single,
    offsets: NDArray[np.int64],
    discount: Row,
    table: Row,
    normalise: bool,
    sigma: float,
    truncation: int,
    gradient: Row,
    hessian: Row,
    failed: NDArray[np.bool_],
) -> None:
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    work = single_workspace(5, longest)
    odds, gain, gamma, g, h = work[0], work[1], work[2], work[3], work[4]
    for k in range(discount.size):
        gamma[k] = discount[k]
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    keys = np.empty(longest + LANES + 1, np.int16)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n == 0:
            continue
        ideal = ideal_of_grades(labels[start:stop], truncation, table, discount)
        descending(scores[start:stop], order, spare, keys)
        high, low = scores[start + order[0]], scores[start + order[n - 1]]
        if ideal < 0.0 or sigma * (high - low) > SPAN:
            failed[q] = True
            continue
        for k in range(n):
            odds[k] = np.float32(sigma * (high - scores[start + order[k]]))
            gain[k] = np.float32(table[np.int64(labels[start + order[k]])])
            g[k] = np.float32(0.0)
            h[k] = np.float32(0.0)
        _exponentials(odds[:n])
        top = min(truncation, n) if ideal > 0.0 else 0
        for i in range(0, min(top, n - 1), 2):
            _plain_rows(i, n, i + 1 < top, np.float32(1.0), odds, odds, gain, gamma, g, h)
        factor = sigma / (ideal if normalise else 1.0) if ideal > 0.0 else 0.0
        for k in range(n):
            gradient[start + order[k]] = g[k] * factor
            hessian[start + order[k]] = h[k] * odds[k] * (factor * sigma)


@inner
def _exponentials(odds: Single) -> None:
    for k in range(odds.size):
        odds[k] = np.float32(exp_negative(np.float64(odds[k])))
