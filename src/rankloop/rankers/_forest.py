"""Kernels that score documents with a packed forest: see `compiled.py` for the arrays.

A node is one word: from the lowest bit its edge (8 bits), column (24), left child (16), right child (15).
Children count from the first word of the tree. The leaves follow the nodes, and lead to themselves.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel
from rankloop.rankers._lanes import LANES, exits, over

__all__ = ["add_blocks", "add_by_eight_rows", "add_by_eight_trees", "to_bins"]

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Eight = tuple[int, int, int, int, int, int, int, int]


@kernel
def to_bins(
    X: NDArray[Any],
    first: int,
    last: int,
    columns: Ints,
    edges: Floats,
    table: Bytes,
    special: Bytes,
    zero: float,
    width: int,
    out: Bytes,
) -> None:
    """How many edges of each column lie below the value: exact for any float, and a byte is enough.

    A row of `columns` is feature, start, half: half > 0 means a search among 2 half - 1 edges, half <= 0 a
    table of -half categories. A row of `special` is the bin of a missing value and that of zero. The bins
    of a column lie side by side, `width` places for the rows.
    """
    rows = last - first
    value = np.empty(rows, np.float64)
    found = np.empty(rows, np.int64)
    for c in range(len(columns)):
        feature, start, half = columns[c, 0], columns[c, 1], columns[c, 2]
        missing, nothing = special[c, 0], special[c, 1]
        for r in range(rows):
            value[r] = X[first + r, feature]
            found[r] = 0
        step = half
        while step > 0:  # one step of all searches at a time: no branch, and they do not wait for each other
            for r in range(rows):
                found[r] += step if edges[start + found[r] + step - 1] < value[r] else 0
            step >>= 1
        if half <= 0:
            for r in range(rows):
                known = -1.0 < value[r] < -half
                found[r] = table[start + int(value[r])] if known else 255
        for r in range(rows):
            bin_ = nothing if abs(value[r]) <= zero else found[r]
            out[c * width + r] = missing if np.isnan(value[r]) else bin_


@kernel
def add_blocks(
    bins: Bytes, words: Ints, trees: Ints, values: Floats, reached: Ints, leaf: Bytes, out: Floats
) -> None:
    """Add every tree to the scores of up to 64 documents: each node parts the set of those that reach it.

    Costs the nodes of the trees whatever the number of documents. A row of `trees` is first word, nodes,
    first leaf.
    """
    for t in range(len(trees)):
        start, nodes, leaves = trees[t, 0], trees[t, 1], trees[t, 2]
        tree = words[start : start + nodes]
        reached[0] = -1
        for j in range(nodes):
            word = tree[j]
            right = over(bins, (word >> 8 & 0xFFFFFF) * LANES, word & 0xFF)
            here = reached[j]
            reached[word >> 32 & 0x7FFF] = here & ~right
            reached[word >> 48 & 0x7FFF] = here & right
        exits(reached, nodes, nodes + 1, leaf)
        mine = values[leaves : leaves + nodes + 1]
        for d in range(len(out)):
            out[d] += mine[leaf[d]]


@kernel
def add_by_eight_rows(bins: Bytes, words: Ints, trees: Ints, values: Floats, out: Floats) -> None:
    """Add every tree to the scores of eight documents that walk it side by side."""
    for t in range(len(trees)):
        root, nodes, first = trees[t, 0], trees[t, 1], trees[t, 2]
        ends = _walk(words, root, root, root, root, root, root, root, root, bins, 8, 1)
        for k in range(8):
            out[k] += values[first + ends[k] - nodes]


@kernel
def add_by_eight_trees(bins: Bytes, words: Ints, trees: Ints, values: Floats, out: Floats) -> None:
    """Add every tree to the score of one document that walks eight of them side by side."""
    last = len(trees) - 1
    for t in range(0, len(trees), 8):
        r = trees[t : t + 8, 0]
        n = len(r) - 1
        ends = _walk(
            words,
            r[0],
            r[min(1, n)],
            r[min(2, n)],
            r[min(3, n)],
            r[min(4, n)],
            r[min(5, n)],
            r[min(6, n)],
            r[min(7, n)],
            bins,
            1,
            0,
        )
        for k in range(min(8, last - t + 1)):
            out[0] += values[trees[t + k, 2] + ends[k] - trees[t + k, 1]]


@kernel
def _walk(
    words: Ints,
    r0: int,
    r1: int,
    r2: int,
    r3: int,
    r4: int,
    r5: int,
    r6: int,
    r7: int,
    bins: Bytes,
    width: int,
    apart: int,
) -> Eight:
    """Where eight walks end. Each waits for its next node; together they keep the processor busy."""
    a = b = c = d = e = f = g = h = 0
    moved = 1
    while moved != 0:
        to_a = _step(words, r0 + a, bins, width, 0)
        to_b = _step(words, r1 + b, bins, width, apart)
        to_c = _step(words, r2 + c, bins, width, 2 * apart)
        to_d = _step(words, r3 + d, bins, width, 3 * apart)
        to_e = _step(words, r4 + e, bins, width, 4 * apart)
        to_f = _step(words, r5 + f, bins, width, 5 * apart)
        to_g = _step(words, r6 + g, bins, width, 6 * apart)
        to_h = _step(words, r7 + h, bins, width, 7 * apart)
        moved = to_a ^ a | to_b ^ b | to_c ^ c | to_d ^ d | to_e ^ e | to_f ^ f | to_g ^ g | to_h ^ h
        a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
    return a, b, c, d, e, f, g, h


@kernel
def _step(words: Ints, at: int, bins: Bytes, width: int, lane: int) -> int:
    word = words[at]
    right = bins[(word >> 8 & 0xFFFFFF) * width + lane] > (word & 0xFF)
    to: int = word >> (32 + 16 * right) & 0x7FFF
    return to
