"""NeuralSort: a smooth sort, computed row by row so that no matrix is ever stored."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import over_lists
from rankloop.lists import discount, rank_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.math import exp_negative, fast, inner, workspace
from rankloop.losses.kernels.swap import normalised_gains
from rankloop.losses.loss_result import LossResult

__all__ = ["neural_sort_loss"]

_SUMS, _COLUMNS, _ROWS, _LOSS, _BACK_ROWS, _BACK_COLUMNS, _BACK_SUMS = range(7)


def neural_sort_loss(
    lists: LossLists, gain: str | tuple[float, ...], *, temperature: float, k: int | None, iterations: int
) -> LossResult:
    """One minus NDCG under the smooth sort, after `iterations` of Sinkhorn scaling; gradient through all.

    Memory: a few numbers per document, and two more per iteration. Hessian: the size of the lambdas between a
    document and the others, rank by rank, as if every rank were a softmax of its own; never less than the
    gradient, so that no Newton step is longer than one.
    """
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    order = rank_lists(lists.scores, lists.offsets)
    amounts, best = normalised_gains(lists, gain, k)
    longest = lists.longest
    table = discount(np.arange(1, longest + 1))
    rows = longest if k is None else k
    table[rows:] = 0.0
    g, h = np.empty(lists.n_documents), np.empty(lists.n_documents)

    def work(first: int, last: int) -> None:
        _sort_lists(
            first, last, lists.scores[order], lists.offsets, amounts[order], best, table,
            1.0 / temperature, longest if iterations else rows, iterations, made.value, g, h,
        )  # fmt: skip

    over_lists(work, lists.offsets)
    made.gradient[order], made.hessian[order] = g, np.maximum(h, np.abs(g))
    return made


@fast
def _sort_lists(
    first: int,
    last: int,
    scores: Floats,
    offsets: Ints,
    amounts: Floats,
    best: Floats,
    discount: Floats,
    slope: float,
    rows: int,
    iterations: int,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    work = workspace(4, longest)
    spread, k, a, c = work[0], work[1], work[2], work[3]
    # Sinkhorn: u scales rows (ranks), v columns (documents); one of each per step, the first of ones.
    u, v = np.empty((iterations + 1, longest)), np.empty((iterations + 1, longest))
    du, dv, dx, one = np.empty(longest), np.empty(longest), np.empty(longest), np.ones(longest)
    # Nothing of size n x n is stored: every phase computes the rows of the kernel anew, which is cheaper than
    # reading them from memory, and each is used at once by vector loops (`_dot`, `_add`, ...).
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2:
            for i in range(start, stop):
                gradient[i] = 0.0
                hessian[i] = 0.0
            continue
        s, y = scores[start:stop], amounts[start:stop]
        _spread(s, spread)
        for r in range(n):
            u[0, r] = 0.0
            v[0, r] = 1.0
            a[r] = 0.0
            c[r] = 0.0
            dv[r] = 0.0
            hessian[start + r] = 0.0
        gained, step = 0.0, 0
        for phase in range(4 * iterations + 3):
            # Which phase this is: row sums; columns and rows in turn; the loss; then all of it backwards.
            if phase == 0 or phase == 4 * iterations + 2:
                kind = _SUMS if phase == 0 else _BACK_SUMS
            elif phase <= 2 * iterations:
                kind = _COLUMNS if phase % 2 == 1 else _ROWS
                step = (phase + 1) // 2
            elif phase == 2 * iterations + 1:
                kind, step = _LOSS, iterations
            else:
                kind = _BACK_ROWS if phase % 2 == 0 else _BACK_COLUMNS
                step = (4 * iterations + 3 - phase) // 2
            if kind == _COLUMNS:
                dx[:n] = 0.0
            # One pass over the ranks, each row with what its phase needs of it.
            for r in range(min(rows, n)):
                total = _kernel_row(n - 1.0 - 2.0 * r, s[r], spread[r], slope, s, spread[:n], k[:n])
                row = n - 1.0 - 2.0 * r
                if kind == _SUMS:
                    u[0, r] = 1.0 / total
                elif kind == _COLUMNS:
                    _add(dx[:n], k[:n], u[step - 1, r])
                elif kind == _ROWS:
                    u[step, r] = 1.0 / _dot(k[:n], v[step, :n])
                elif kind == _LOSS:
                    held = _dot3(k[:n], v[iterations, :n], y)
                    gained += discount[r] * u[iterations, r] * held
                    du[r] = -discount[r] * held
                    by = -discount[r] * u[iterations, r]
                    _add3(dv[:n], k[:n], y, by)
                    _add_outer(a[:n], c[:n], row, by, k[:n], v[iterations, :n], y)
                    _add_hessian(
                        discount[r] * slope, r, u[iterations, r], u[iterations, r] * held, k[:n],
                        v[iterations, :n], y, hessian[start:stop],
                    )  # fmt: skip
                elif kind == _BACK_ROWS:
                    by = -du[r] * u[step, r] * u[step, r]
                    _add(dv[:n], k[:n], by)
                    _add_outer(a[:n], c[:n], row, by, k[:n], v[step, :n], one[:n])
                elif kind == _BACK_COLUMNS:
                    du[r] = _dot(k[:n], dx[:n])
                    _add_outer(a[:n], c[:n], row, u[step - 1, r], k[:n], dx[:n], one[:n])
                else:
                    _add_outer(a[:n], c[:n], row, -du[r] * u[0, r] * u[0, r], k[:n], one[:n], one[:n])
            # What a phase over columns leaves: their scales, or the derivatives by them.
            for j in range(n):
                if kind == _COLUMNS:
                    v[step, j] = 1.0 / dx[j]
                elif kind == _BACK_ROWS:
                    dx[j] = -dv[j] * v[step, j] * v[step, j]
                    dv[j] = 0.0
        # The loss of the list, and the chain rule from logits to scores.
        value[q] = -gained
        for i in range(start, stop):
            value[q] += best[i]
        _chain(slope, s, a, c, gradient[start:stop])


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
def _kernel_row(
    row: float, score: float, far: float, slope: float, s: Floats, spread: Floats, k: Floats
) -> float:
    """exp of the logits of one rank, the largest (the document at that rank) being 1; their sum."""
    high, total = row * score - far, 0.0
    for j in range(k.size):
        k[j] = exp_negative(max(slope * (high - (row * s[j] - spread[j])), 0.0))
        total += k[j]
    return total


@inner
def _dot(k: Floats, x: Floats) -> float:
    total = 0.0
    for j in range(k.size):
        total += k[j] * x[j]
    return total


@inner
def _dot3(k: Floats, v: Floats, y: Floats) -> float:
    total = 0.0
    for j in range(k.size):
        total += k[j] * v[j] * y[j]
    return total


@inner
def _add(out: Floats, k: Floats, by: float) -> None:
    for j in range(out.size):
        out[j] += by * k[j]


@inner
def _add3(out: Floats, k: Floats, y: Floats, by: float) -> None:
    for j in range(out.size):
        out[j] += by * k[j] * y[j]


@inner
def _add_outer(a: Floats, c: Floats, row: float, by: float, k: Floats, x: Floats, y: Floats) -> None:
    """The derivatives of the logits of one rank, summed over ranks plainly and times the rank's factor."""
    for j in range(k.size):
        slope = by * k[j] * x[j] * y[j]
        a[j] += slope
        c[j] += row * slope


@inner
def _add_hessian(
    by: float, rank: int, u: float, held: float, k: Floats, v: Floats, y: Floats, hessian: Floats
) -> None:
    for j in range(k.size):
        share = u * k[j] * v[j]
        far = 2.0 * abs(j - rank) + 1.0
        hessian[j] += by * abs(y[j] - held) * share * max(1.0 - share, 0.0) * far


@inner
def _chain(slope: float, s: Floats, a: Floats, c: Floats, gradient: Floats) -> None:
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
            signs = (n - end) - begin  # how many lie below, less how many above
            gradient[m] = slope * (c[m] - a[m] * signs + (above - below))
        above += block
        begin = end
