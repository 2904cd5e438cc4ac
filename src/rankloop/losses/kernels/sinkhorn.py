"""Sinkhorn's scaling of a smooth sort to columns of sum one, by products of its rows with vectors."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.losses.kernels.math import exp_negative, inner

__all__ = ["PIECES", "row_dot", "row_shares", "scale_columns", "solve_columns"]

PIECES = 17  # arrays of the length of a list: what a sort needs, and what the scaling does
_PLAIN = 8  # Sinkhorn's own steps, before those by Newton


@inner
def scale_columns(
    slope: float, s: Floats, spread: Floats, reach: Ints, iterations: int, tolerance: float, work: Floats
) -> None:
    """Find the scales of the columns, to sums within `tolerance` of one."""
    n = s.size
    k, log_v, v, sums = work[1][:n], work[2][:n], work[3][:n], work[7][:n]
    step, tried, gap = work[8][:n], work[9][:n], work[10][:n]
    here = _column_sums(slope, s, spread, reach, log_v, v, k, sums)
    for turn in range(iterations):
        worst = 0.0
        for j in range(n):
            worst = max(worst, abs(sums[j] - 1.0))
            gap[j] = 1.0 - sums[j]
        if worst <= tolerance:
            return
        if turn < _PLAIN:
            for j in range(n):
                step[j] = -np.log(sums[j])
        else:
            solve_columns(slope, s, spread, reach, gap, min(0.1, worst), 10 * iterations, step, work)
        rise, size = 0.0, 1.0
        for j in range(n):
            rise -= gap[j] * step[j]
        # Half the step until the convex function falls; Sinkhorn's own steps always do.
        for _ in range(30):
            for j in range(n):
                tried[j] = log_v[j] + size * step[j]
            there = _column_sums(slope, s, spread, reach, tried, v, k, sums)
            if turn < _PLAIN or there <= here + 1e-4 * size * rise + 1e-13 * n:
                break
            size *= 0.5
        here = there
        log_v[:] = tried[:]


@inner
def _column_sums(
    slope: float, s: Floats, spread: Floats, reach: Ints, log_v: Floats, v: Floats, k: Floats, sums: Floats
) -> float:
    """The sums of the columns, rows being of sum one; the convex function whose gradient they are, plus 1."""
    n, total = s.size, 0.0
    for j in range(n):
        v[j] = np.exp(log_v[j])
        sums[j] = 0.0
        total -= log_v[j]
    for r in range(n):
        low, high = reach[r, 0], reach[r, 1]
        share = row_shares(r, low, high, n, slope, s, spread, v, k)
        total -= np.log(share)
        for j in range(low, high):
            sums[j] += share * k[j]
    return total


@inner
def solve_columns(
    slope: float,
    s: Floats,
    spread: Floats,
    reach: Ints,
    wanted: Floats,
    tolerance: float,
    most: int,
    x: Floats,
    work: Floats,
) -> None:
    """x with (diag(sums) - P'P) x = wanted, by conjugate gradients; both sum to zero.

    The diagonal preconditions, so that pairs of documents that hardly mix with others settle at once.
    """
    n = s.size
    k, v, diagonal, left = work[1][:n], work[3][:n], work[11][:n], work[12][:n]
    way, image, sums = work[13][:n], work[14][:n], work[15][:n]
    # The diagonal, and the sums of columns so far.
    diagonal[:] = 0.0
    sums[:] = 0.0
    for r in range(n):
        low, high = reach[r, 0], reach[r, 1]
        share = row_shares(r, low, high, n, slope, s, spread, v, k)
        for j in range(low, high):
            p = share * k[j]
            sums[j] += p
            diagonal[j] += p - p * p
    # From x = 0, where the residual is the whole right-hand side, along the preconditioned residual.
    mean = wanted.sum() / n
    size, before = 0.0, 0.0
    for j in range(n):
        diagonal[j] = 1.0 / max(diagonal[j], 1e-12)
        x[j] = 0.0
        left[j] = wanted[j] - mean
        way[j] = diagonal[j] * left[j]
        size += left[j] * left[j]
        before += left[j] * way[j]
    enough = size * tolerance * tolerance
    for _ in range(most):
        if size <= enough or before <= 0.0:
            return
        # The image of the direction, one row of P at a time.
        for j in range(n):
            image[j] = sums[j] * way[j]
        for r in range(n):
            low, high = reach[r, 0], reach[r, 1]
            share = row_shares(r, low, high, n, slope, s, spread, v, k)
            met = share * share * row_dot(low, high, k, way)
            for j in range(low, high):
                image[j] -= met * k[j]
        # A step to the minimum along the direction, and the next direction, conjugate to it.
        bend = row_dot(0, n, way, image)
        if bend <= 0.0:
            return
        length, size, after = before / bend, 0.0, 0.0
        for j in range(n):
            x[j] += length * way[j]
            left[j] -= length * image[j]
            size += left[j] * left[j]
            after += left[j] * left[j] * diagonal[j]
        for j in range(n):
            way[j] = diagonal[j] * left[j] + after / before * way[j]
        before = after


@inner
def row_shares(
    r: int, low: int, high: int, n: int, slope: float, s: Floats, spread: Floats, v: Floats, k: Floats
) -> float:
    """exp of the logits of one rank, times the scales of columns; 1 / their sum."""
    row, total = n - 1.0 - 2.0 * r, 0.0
    top = row * s[r] - spread[r]
    for j in range(low, high):
        k[j] = exp_negative(max(slope * (top - (row * s[j] - spread[j])), 0.0)) * v[j]
        total += k[j]
    return 1.0 / total


@inner
def row_dot(low: int, high: int, k: Floats, x: Floats) -> float:
    total = 0.0
    for j in range(low, high):
        total += k[j] * x[j]
    return total
