"""Kernels that grow symmetric trees: every level has one split, which divides all leaves."""

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Singles
from rankloop._jit import kernel

__all__ = ["BINS", "best_splits", "leaf_sums", "packed_sums", "place", "send"]

BINS = 256  # of a feature at most, so that a bin is a byte
_HALF = 32  # bits of a sum: the upper half is the gradient's, the lower one the weight's


@kernel
def packed_sums(gradient: Singles, weight: Singles, steps: Floats, out: Ints) -> None:
    """Gradient and weight of each document as whole steps in one number, so that one addition adds both."""
    for i in range(len(gradient)):
        g = np.int64(np.rint(gradient[i] / steps[0]))
        out[i] = (g << _HALF) + np.int64(np.rint(weight[i] / steps[1]))


@kernel
def best_splits(
    bins: Bytes, kinds: Ints, chosen: Ints, leaf: Bytes, sums: Ints, leaves: int, steps: Floats,
    l2: float, least: float, found: Floats,
) -> None:  # fmt: skip
    """For each of the `chosen` features the best split of all leaves together.

    A row of `bins` is a feature, a row of `kinds` its number of edges and the bin of missing values (-1 where
    there are none). A row of `found` becomes the gain, the last bin on the left and whether missing values
    go left. The gain of a leaf is G²/(H + l2), or 0 where H is below `least`, a number above 0.
    """
    table = np.empty(leaves * BINS, np.int64)
    total = np.empty((2, leaves))
    left_g, left_h = np.empty(BINS), np.empty(BINS)
    gain = np.empty(BINS)
    for at in range(len(chosen)):
        feature = chosen[at]
        edges, missing = kinds[feature, 0], kinds[feature, 1]
        found[at, 0] = -1.0
        if edges == 0 and missing < 0:
            continue
        # Sums of each bin of each leaf
        table[:] = 0
        row = bins[feature]
        for i in range(len(leaf)):
            table[leaf[i] * BINS + row[i]] += sums[i]
        for k in range(leaves):
            whole = np.int64(0)
            for b in range(edges + 2 if missing >= 0 else edges + 1):
                whole += table[k * BINS + b]
            total[0, k] = (whole >> _HALF) * steps[0]
            total[1, k] = (whole & 0xFFFFFFFF) * steps[1]
        # Gain of every edge, with missing values on the right and on the left
        for way in range(2 if missing >= 0 else 1):
            last = edges + 1 if missing >= 0 else edges
            gain[:last] = 0.0
            for k in range(leaves):
                running = table[k * BINS + missing] if way == 1 else np.int64(0)
                for b in range(last):
                    running += table[k * BINS + b]
                    left_g[b] = running >> _HALF
                    left_h[b] = running & 0xFFFFFFFF
                all_g, all_h = total[0, k], total[1, k]
                for b in range(last):
                    g, h = left_g[b] * steps[0], left_h[b] * steps[1]
                    other, rest = all_g - g, all_h - h
                    here = g * g / (h + l2) if h >= least else 0.0
                    there = other * other / (rest + l2) if rest >= least else 0.0
                    gain[b] += here + there
            for b in range(last):
                if gain[b] > found[at, 0]:
                    found[at, 0], found[at, 1], found[at, 2] = gain[b], b, way


@kernel
def send(row: Bytes, last: int, missing: int, left: bool, leaf: Bytes) -> None:
    """Move every document to one of the two leaves that its leaf becomes."""
    for i in range(len(leaf)):
        right = row[i] > last
        if row[i] == missing:
            right = not left
        leaf[i] = 2 * leaf[i] + right


@kernel
def leaf_sums(leaf: Bytes, gradient: Singles, hessian: Singles, out: Floats) -> None:
    """Gradient, Hessian and number of documents of each leaf."""
    out[:] = 0.0
    for i in range(len(leaf)):
        out[leaf[i], 0] += gradient[i]
        out[leaf[i], 1] += hessian[i]
        out[leaf[i], 2] += 1.0


@kernel
def place(leaf: Bytes, value: Floats, scores: Floats) -> None:
    """Add the value of its leaf to each document's score."""
    for i in range(len(leaf)):
        scores[i] += value[leaf[i]]
