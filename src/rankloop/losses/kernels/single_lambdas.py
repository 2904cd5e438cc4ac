"""LambdaRank's lambdas by NDCG or DCG in single precision: what boosted trees take.

`pairwise` computes every pair loss in double precision, with values, item weights and explicit pairs. Tree
libraries store gradients in single precision and ask for them hundreds of times over the same labels: here
all that labels decide is computed once, and a vector holds twice as many pairs, which together is two to
three times as fast. A shared kernel would give up one or the other.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloop._arrays import Array, Bools, Floats, Ints, Singles
from rankloop._jit import over_lists
from rankloop.lists import Gain, discount, gains, ideal_dcg
from rankloop.lists.gain import GainOption
from rankloop.lists.ideal_dcg import discount_sums, grade_gains, ideal_by_grades
from rankloop.lists.kernels.sort import longest_list, scratch, sort_list
from rankloop.losses.kernels.lists import inverse
from rankloop.losses.kernels.math import exp_negative, fast, inner, single_workspace
from rankloop.losses.kernels.single_ties import cut_discount, has_ties, mean_discounts, take_share, tied_pairs

__all__ = ["SingleLambdas"]

LANES = 16  # pairs that the loop takes at once, of single precision in the widest vectors
_NOBODY = 1e30  # odds of a rank behind the list: the product of two such is infinite, and its inverse 0

# Up to these spans of sigma * score all odds of a list, and their products with gaps, fit single precision.
_SPAN, _SPAN_OF_GAPS = 40.0, 30.0


class SingleLambdas:
    """`LambdaRank` without item weights, pairs and `norm_list`, for labels that stay the same.

    `gapped` is its `norm_gap`: pairs are divided by 0.01 + |s_i - s_j|. Ties of scores count as the mean over
    their orders, as there (`tied_ranks`): rows of pairs take the mean discount of each tie, and the pairs
    within ties, all of one weight, are added in closed form.
    """

    def __init__(
        self,
        labels: Singles,
        offsets: Ints,
        *,
        normalised: bool,
        gain: GainOption,
        sigma: float,
        truncation: int | None,
        gapped: bool,
        query_weight: Array | None = None,
    ) -> None:
        longest = int(np.diff(offsets).max(initial=0))
        self.offsets, self.sigma, self.gapped = offsets, sigma, gapped
        self.truncation = longest if truncation is None else truncation
        by_place = discount(np.arange(1, longest + 1))
        self.discount = by_place.astype(np.float32)
        self.sums = np.zeros((2, longest + 1))  # what ties read: of discounts, and of discounts times places
        np.cumsum((by_place, by_place * np.arange(longest)), axis=1, out=self.sums[:, 1:])
        # Gains come from a table of grades; where labels lie between grades, from a column of their own.
        highest = float(labels.max(initial=0))
        self.labels, self.table = labels, grade_gains(Gain.of(gain, labels, highest), highest)
        ideal = ideal_by_grades(labels, offsets, self.table, discount_sums(offsets, truncation))
        if ideal is None:
            self.labels, self.table = gains(labels, gain).astype(np.float32), np.zeros(0)
            ideal = ideal_dcg(labels, offsets, gain, truncation)
        self.factor: Floats = sigma * (inverse(ideal) if normalised else (ideal > 0).astype(np.float64))
        if query_weight is not None:
            self.factor = self.factor * query_weight.astype(np.float64)

    def __call__(self, scores: Floats, dtype: Any = np.float32) -> tuple[Array, Array] | None:
        """Gradient and Hessian; None where the scores of a list span too much for single precision."""
        gradient, hessian = np.empty(len(scores), dtype), np.empty(len(scores), dtype)
        failed = np.zeros(len(self.factor), np.bool_)

        def work(first: int, last: int) -> None:
            _lambda_lists(
                first, last, scores, self.labels, self.table, self.offsets, self.discount, self.sums,
                self.factor, self.sigma, self.truncation, self.gapped, gradient, hessian, failed,
            )  # fmt: skip

        over_lists(work, self.offsets)
        return None if failed.any() else (gradient, hessian)


def _two_rows(gapped: bool) -> Callable[..., None]:
    """Two rows of pairs; where `gapped`, a pair is divided by near + |s_i - s_j|."""

    @inner
    def rows(
        i: int,
        n: int,
        both: bool,
        near: np.float32,
        fall: Singles,
        odds: Singles,
        gain: Singles,
        gamma: Singles,
        g: Singles,
        h: Singles,
    ) -> None:
        """Lambdas between ranks i and i + 1 (0-based) and all below; two rows share a division and memory.

        `fall` is how far each rank lies below the first. `h[k]` still lacks the factor `odds[k]`: the caller
        multiplies once, at the end. The loop runs over whole vectors: behind the list lie ranks that add 0.
        """
        one, none = np.float32(1.0), np.float32(0.0)
        a, b = np.uint64(i), np.uint64(i + 1)
        odds_a, odds_b, gain_a, gain_b = odds[a], odds[b], gain[a], gain[b]
        gamma_a, gamma_b, from_a, from_b = gamma[a], gamma[b], near - fall[a], near - fall[b]
        second = one if both else none
        # The pair of the two ranks themselves.
        p = one / (odds_a + odds_b)
        x = (gain_a - gain_b) * (gamma_a - gamma_b) / (from_a + fall[b] if gapped else one)
        f = x * p * (odds_b if x > none else odds_a)
        v = abs(x) * p * p
        lambda_a, hess_a, lambda_b, hess_b = f, v * odds_b, -f, v * odds_a
        # Both against all below: no branch and one division for two pairs, so that lanes stay full.
        for j in range(np.uint64(i + 2), np.uint64(i + 2 + ((n - i - 2 + LANES - 1) & -LANES))):
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
            lambda_a += f_a
            lambda_b += f_b
            hess_a += v_a * odds[j]
            hess_b += v_b * odds[j]
        g[a] -= lambda_a
        g[b] -= lambda_b
        h[a] += hess_a
        h[b] += hess_b

    return rows


_plain_rows, _gapped_rows = _two_rows(gapped=False), _two_rows(gapped=True)


@fast
def _lambda_lists(
    first: int,
    last: int,
    scores: Floats,
    labels: Singles,
    table: Floats,
    offsets: Ints,
    discount: Singles,
    sums: Floats,
    factors: Floats,
    sigma: float,
    truncation: int,
    gapped: bool,
    gradient: Array,
    hessian: Array,
    failed: Bools,
) -> None:
    # Room for the longest list, made once and used for all of them.
    longest = longest_list(offsets, first, last)
    work = single_workspace(6, longest)
    odds, gain, gamma, fall, g, h = work[0], work[1], work[2], work[3], work[4], work[5]
    for k in range(longest + LANES):
        gamma[k] = discount[k] if k < longest else np.float32(0.0)
    order, key, spare, bucket, slot = scratch(longest)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2 or factors[q] == 0.0:
            for k in range(start, stop):
                gradient[k] = 0.0
                hessian[k] = 0.0
            continue
        # Lists in order of score; the sorted scores come with the order.
        sort_list(scores[start:stop], order, key, spare, bucket, slot)
        if sigma * (key[0] - key[n - 1]) > (_SPAN_OF_GAPS if gapped else _SPAN):
            failed[q] = True
            continue
        near = np.float32(0.01) if key[0] > key[n - 1] else np.float32(1.0)
        at = np.uint64(start)
        for k in range(n):
            fall[k] = np.float32(key[0] - key[k])
            g[k] = np.float32(0.0)
            h[k] = np.float32(0.0)
        for k in range(np.uint64(n)):
            label = labels[at + np.uint64(order[k])]
            gain[k] = table[np.uint64(label)] if table.size > 0 else label
        _odds(n, sigma, fall, odds)
        for k in range(n, n + LANES):
            odds[k], fall[k] = np.float32(_NOBODY), fall[n - 1]
            gain[k] = g[k] = h[k] = np.float32(0.0)
        # Rows of pairs, two at a time, down to the truncation; where scores tie, at mean discounts. A tie
        # that the truncation cuts comes first: its documents stand above it by turns.
        tied, low, top, begin, end = has_ties(n, key), 0, min(truncation, n), n, n
        if tied:
            top, begin, end = mean_discounts(n, truncation, key, sums, gamma)
            cut_discount(begin, end, truncation, sums, gamma)
        for part in range(2 if end < n else 1):
            low, stop_at = (begin, end) if end < n and part == 0 else (0, top)
            for i in range(low, min(stop_at, n - 1), 2):
                if gapped:
                    _gapped_rows(i, n, i + 1 < stop_at, near, fall, odds, gain, gamma, g, h)
                else:
                    _plain_rows(i, n, i + 1 < stop_at, near, fall, odds, gain, gamma, g, h)
            if end < n and part == 0:
                take_share(n, begin, end, truncation, sums, gamma, g, h)
        if tied:
            tied_pairs(n, truncation, np.float64(near) if gapped else 1.0, key, gain, odds, sums, g, h)
            for k in range(n):
                gamma[k] = discount[k]
        # Back to the order in which the documents came.
        factor, bend = factors[q], factors[q] * sigma
        for k in range(np.uint64(n)):
            row = at + np.uint64(order[k])
            gradient[row] = g[k] * factor
            hessian[row] = h[k] * odds[k] * bend


@inner
def _odds(n: int, sigma: float, fall: Singles, odds: Singles) -> None:
    for k in range(n):
        odds[k] = np.float32(exp_negative(sigma * np.float64(fall[k])))
