"""NeuralSort: a smooth sort, computed row by row so that no matrix is ever stored."""

from itertools import pairwise

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import over_lists
from rankloop.lists import discount, list_sums, rank_lists
from rankloop.lists.kernels.sort import longest_list
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.math import fast, inner, workspace
from rankloop.losses.kernels.sinkhorn import PIECES, row_dot, row_shares, scale_columns, solve_columns
from rankloop.losses.kernels.swap import normalised_gains
from rankloop.losses.loss_result import LossResult

__all__ = ["neural_sort_loss"]

_FAR = 50.0  # e^-50 of the largest entry of a row adds nothing to a double


def neural_sort_loss(
    lists: LossLists,
    gain: str | tuple[float, ...],
    *,
    temperature: float,
    k: int | None,
    iterations: int = 0,
    tolerance: float = 0.0,
    truncation: int | None = None,
) -> LossResult:
    """One minus NDCG under the smooth sort P; with `iterations`, its columns are scaled to sums of one too.

    Columns are scaled by exp(y), rows divided by their sums: the sums of columns are then the gradient of a
    convex function of y, whose Hessian is diag(sums) - P'P. After a few steps of Sinkhorn's come Newton's, by
    conjugate gradients; the gradient of the loss goes through the scaling by one more system with the same
    matrix. All of it takes products of P with a vector, row by row, in memory linear in the list; a row is
    visited as far as its entries count. Hessian: the size of the lambdas between a document and the others,
    rank by rank, as if every rank were a softmax of its own; never less than the gradient, so that no Newton
    step is longer than one. `truncation` as in `NeuralNDCG`.
    """
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    order, offsets = rank_lists(lists.scores, lists.offsets), lists.offsets
    amounts, best = normalised_gains(lists, gain, k)
    if truncation is not None and lists.longest > truncation:
        order, offsets = _kept(order, offsets, amounts, truncation)
    longest = int(np.diff(offsets).max(initial=0))
    table = discount(np.arange(1, longest + 1))
    rows = longest if k is None else k
    table[rows:] = 0.0
    g, h = np.empty(len(order)), np.empty(len(order))
    made.value[:] = list_sums(best, lists.offsets)

    def work(first: int, last: int) -> None:
        _sort_lists(
            first, last, lists.scores[order], offsets, amounts[order], table,
            1.0 / temperature, rows, iterations, tolerance, made.value, g, h,
        )  # fmt: skip

    over_lists(work, offsets)
    made.gradient[order], made.hessian[order] = g, np.maximum(h, np.abs(g))
    return made


def _kept(order: Ints, offsets: Ints, amounts: Floats, most: int) -> tuple[Ints, Ints]:
    """The rows of each list in order of score, at most `most`: half by gain, the others by score."""
    parts = []
    for start, stop in pairwise(offsets):
        rows = order[start:stop]
        if len(rows) > most:
            by_gain = np.argsort(-amounts[rows], kind="stable")[: most // 2]
            keep = np.zeros(len(rows), np.bool_)
            keep[by_gain[amounts[rows][by_gain] > 0]] = True
            keep[np.flatnonzero(~keep)[: most - int(keep.sum())]] = True
            rows = rows[keep]
        parts.append(rows)
    ends = np.cumsum([len(one) for one in parts])
    return np.concatenate(parts), np.concatenate(([0], ends)).astype(offsets.dtype)


@fast
def _sort_lists(
    first: int,
    last: int,
    scores: Floats,
    offsets: Ints,
    amounts: Floats,
    discount: Floats,
    slope: float,
    rows: int,
    iterations: int,
    tolerance: float,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    longest = longest_list(offsets, first, last)
    work = workspace(PIECES, longest)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        gradient[start:stop] = 0.0
        hessian[start:stop] = 0.0
        if n < 2:
            continue
        s, y = scores[start:stop], amounts[start:stop]
        spread, k, log_v, v = work[0][:n], work[1][:n], work[2][:n], work[3][:n]
        z, a, c, signs = work[4][:n], work[5][:n], work[6][:n], work[16][:n]
        # The matrix of the soft sort is never stored: `reach` has the entries of each row that are not 0, and
        # v the factors of the columns, which with `iterations` make these sum to 1 as the rows do.
        _spread(s, spread)
        _signs(s, signs)
        reach = _reach(slope, s, spread)
        log_v[:] = 0.0
        v[:] = 1.0
        if iterations > 0:
            scale_columns(slope, s, spread, reach, iterations, tolerance, work)
        # The loss, its derivatives by the scaled logits, and their sums over ranks: those by y.
        count, gained = min(rows, n), 0.0
        a[:] = 0.0
        c[:] = 0.0
        for r in range(count):
            low, high = reach[r, 0], reach[r, 1]
            share = row_shares(r, low, high, n, slope, s, spread, v, k)
            held = row_dot(low, high, k, y) * share
            gained += discount[r] * held
            _add_loss(low, high, discount[r] * share, n - 1.0 - 2.0 * r, held, k, y, a, c)
            _add_hessian(
                low,
                high,
                n - 1.0 - 2.0 * r,
                discount[r] * slope,
                share,
                held,
                k,
                y,
                signs,
                hessian[start:stop],
            )
        # Through the scaling: what a change of the sums of columns would change.
        if iterations > 0:
            solve_columns(slope, s, spread, reach, a, tolerance, 10 * iterations, z, work)
            for r in range(n):
                low, high = reach[r, 0], reach[r, 1]
                share = row_shares(r, low, high, n, slope, s, spread, v, k)
                held = row_dot(low, high, k, z) * share
                _add_loss(low, high, share, n - 1.0 - 2.0 * r, held, k, z, a, c)
        value[q] -= gained
        _chain(slope, s, a, c, signs, gradient[start:stop])


@inner
def _spread(s: Floats, spread: Floats) -> None:
    """The sum of distances to all others; scores fall."""
    n, behind, total = s.size, 0.0, 0.0
    for i in range(n):
        total += s[0] - s[i]
    for i in range(n):
        if i > 0:
            step = s[i - 1] - s[i]
            behind += step * i
            total -= step * (n - i)
        spread[i] = behind + total


@inner
def _reach(slope: float, s: Floats, spread: Floats) -> Ints:
    """The documents whose entries count, by rank: a row falls on both sides of its own document."""
    n = s.size
    reach = np.empty((n, 2), np.int64)
    for r in range(n):
        row, low, high = n - 1.0 - 2.0 * r, 0, n
        top = row * s[r] - spread[r] - _FAR / slope
        end = r
        while low < end:
            middle = (low + end) // 2
            if row * s[middle] - spread[middle] < top:
                low = middle + 1
            else:
                end = middle
        begin = r + 1
        while begin < high:
            middle = (begin + high) // 2
            if row * s[middle] - spread[middle] < top:
                high = middle
            else:
                begin = middle + 1
        reach[r, 0], reach[r, 1] = low, high
    return reach


@inner
def _add_loss(
    low: int, high: int, by: float, row: float, held: float, k: Floats, x: Floats, a: Floats, c: Floats
) -> None:
    """Minus the derivatives of the mean of x at one rank by its logits: plainly, and times its factor."""
    for j in range(low, high):
        lambda_ = by * k[j] * (held - x[j])
        a[j] += lambda_
        c[j] += row * lambda_


@inner
def _add_hessian(
    low: int,
    high: int,
    row: float,
    by: float,
    share: float,
    held: float,
    k: Floats,
    y: Floats,
    signs: Floats,
    hessian: Floats,
) -> None:
    for j in range(low, high):
        p = share * k[j]
        far = abs(row - signs[j]) + 1.0
        hessian[j] += by * abs(y[j] - held) * p * max(1.0 - p, 0.0) * far


@inner
def _signs(s: Floats, signs: Floats) -> None:
    """How many documents score lower, less how many score higher."""
    n, begin = s.size, 0
    while begin < n:
        end = begin
        while end < n and s[end] == s[begin]:
            end += 1
        for m in range(begin, end):
            signs[m] = n - end - begin
        begin = end


@inner
def _chain(slope: float, s: Floats, a: Floats, c: Floats, signs: Floats, gradient: Floats) -> None:
    """From the logits c_r s_j - spread_j to the scores; equal scores share a sign of zero."""
    n, begin, above, total = s.size, 0, 0.0, 0.0
    for j in range(n):
        total += a[j]
    while begin < n:
        end, block = begin, 0.0
        while end < n and s[end] == s[begin]:
            block += a[end]
            end += 1
        below = total - above - block
        for m in range(begin, end):
            gradient[m] = slope * (c[m] - a[m] * signs[m] + (above - below))
        above += block
        begin = end
