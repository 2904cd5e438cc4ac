"""Kernels that score documents with a packed forest: see `forest.py` for the arrays.

A node is one word: from the lowest bit its edge (8 bits), column (24), left child (16), right child (15).
Children count from the first word of the tree. Leaves follow the nodes and are their own children.
"""

import numpy as np

from rankloop._arrays import Array, Bytes, Floats, Ints
from rankloop._jit import kernel, part
from rankloop.rankers.trees.lanes import LANES, exits, over

__all__ = ["WORDS", "Binned", "Trees", "add_alone", "add_blocks", "add_by_eight", "find_leaves", "to_bins"]

Binned = tuple[Ints, Floats, Bytes, Bytes, float]  # columns, edges, table, special, size of zero
Trees = tuple[Ints, Ints, Floats]  # words, trees, values

_TREES = 16  # that one document walks at a time
_SECOND = 520  # where the words of a second block begin: not 4 KB after the first, where addresses look alike
WORDS = 2 * _SECOND  # that two blocks need


@kernel
def to_bins(X: Array, binned: Binned, width: int, out: Bytes) -> None:
    """The bin of each value: the number of edges of its column below it, which fits a byte.

    A row of `columns` is feature, start, half: half > 0 means a search among 2 half - 1 edges, half <= 0 a
    table of -half categories. A row of `special` is the bin of a missing value and that of zero. The bins
    of a column are contiguous: `width` places for the rows.
    """
    columns, edges, table, special, zero = binned
    rows = len(X)
    value = np.empty(rows, np.float64)
    found = np.empty(rows, np.int64)
    for c in range(len(columns)):
        feature, start, half = columns[c, 0], columns[c, 1], columns[c, 2]
        missing, at_zero = special[c, 0], special[c, 1]
        for r in range(rows):
            value[r] = X[r, feature]
            found[r] = 0
        step = half
        while step > 1 and edges[start + step - 1] == np.inf:  # where the column has fewer edges
            step >>= 1
        while step > 0:  # one step of all binary searches at a time: no branches, and independent loads
            for r in range(rows):
                found[r] += step if edges[start + found[r] + step - 1] < value[r] else 0
            step >>= 1
        if half <= 0:
            for r in range(rows):
                known = -1.0 < value[r] < -half
                found[r] = table[start + int(value[r])] if known else 255
        for r in range(rows):
            bin_ = at_zero if abs(value[r]) <= zero else found[r]
            out[c * width + r] = missing if np.isnan(value[r]) else bin_


@part
def find_leaves(bins: Bytes, tree: Ints, nodes: int, reached: Ints, leaf: Bytes) -> None:
    """The leaf of each of 64 documents: each node splits the set of documents that reach it (a word)."""
    reached[0] = -1
    for j in range(nodes):
        word = tree[j]
        right = over(bins, (word >> 8 & 0xFFFFFF) * LANES, word & 0xFF)
        here = reached[j]
        reached[word >> 32 & 0x7FFF] = here & ~right
        reached[word >> 48 & 0x7FFF] = here & right
    exits(reached, nodes, nodes + 1, leaf)


@part
def _find_twice(bins: Bytes, size: int, tree: Ints, nodes: int, reached: Ints, leaf: Bytes) -> None:
    """`find_leaves` of two blocks, whose bins are `size` apart: a node is read once for both."""
    reached[0] = reached[_SECOND] = -1
    for j in range(nodes):
        word = tree[j]
        column, edge = (word >> 8 & 0xFFFFFF) * LANES, word & 0xFF
        left, right = word >> 32 & 0x7FFF, word >> 48 & 0x7FFF
        above, other = over(bins, column, edge), over(bins, column + size, edge)
        here, there = reached[j], reached[j + _SECOND]
        reached[left] = here & ~above
        reached[right] = here & above
        reached[left + _SECOND] = there & ~other
        reached[right + _SECOND] = there & other
    exits(reached, nodes, nodes + 1, leaf)
    exits(reached, nodes + _SECOND, nodes + 1, leaf[LANES:])


@kernel
def add_blocks(
    X: Array, binned: Binned, forest: Trees, bins: Bytes, reached: Ints, leaf: Bytes, out: Floats
) -> None:
    """Add every tree to the scores of documents, 64 at a time.

    The cost of a block is the number of nodes, also for fewer than 64 documents. A tree passes all blocks
    while its nodes are in the cache. A row of `trees` is first word, nodes, first leaf; `bins` has 64 places
    for each column and block.
    """
    words, trees, values = forest
    rows, size = len(X), len(binned[0]) * LANES
    blocks = (rows + LANES - 1) // LANES
    for b in range(blocks):
        some = X[b * LANES : (b + 1) * LANES]
        to_bins(some, binned, LANES, bins[b * size : (b + 1) * size])
    for t in range(len(trees)):
        start, nodes, leaves = trees[t, 0], trees[t, 1], trees[t, 2]
        tree, mine = words[start : start + nodes], values[leaves : leaves + nodes + 1]
        for b in range(0, blocks, 2):
            if b + 1 < blocks:
                _find_twice(bins[b * size : (b + 2) * size], size, tree, nodes, reached, leaf)
            else:
                find_leaves(bins[b * size : (b + 1) * size], tree, nodes, reached, leaf)
            scores = out[b * LANES : (b + 2) * LANES]
            for d in range(len(scores)):
                scores[d] += mine[leaf[d]]


@kernel
def add_by_eight(bins: Bytes, forest: Trees, out: Floats) -> None:
    """Add every tree to the scores of up to eight documents that walk it together.

    One walk waits for the load of its next node; eight interleaved ones hide that latency.
    """
    words, trees, values = forest
    at = np.empty(8, np.int64)
    for t in range(len(trees)):
        start, nodes, leaves = trees[t, 0], trees[t, 1], trees[t, 2]
        tree = words[start : start + 2 * nodes + 1]
        at[:] = 0
        moved = 1
        while moved != 0:
            moved = 0
            for k in range(8):
                word = tree[at[k] & 0x7FFF]
                right = bins[(word >> 8 & 0xFFFFFF) * 8 + k] > (word & 0xFF)
                to = word >> (32 + 16 * right) & 0x7FFF
                moved |= to ^ at[k]
                at[k] = to
        for k in range(len(out)):
            out[k] += values[leaves + at[k] - nodes]


@kernel
def add_alone(X: Array, binned: Binned, forest: Trees, out: Floats) -> None:
    """Add every tree to the scores of a few documents; each walks sixteen trees at a time."""
    words, trees, values = forest
    bins = np.empty(max(1, len(binned[0])), np.uint8)
    at, root = np.empty(_TREES, np.int64), np.empty(_TREES, np.int64)
    for row in range(len(X)):
        _one_to_bins(X[row], binned, bins)
        score = out[row]
        for first in range(0, len(trees), _TREES):
            count = min(_TREES, len(trees) - first)
            for k in range(_TREES):
                root[k] = trees[first + min(k, count - 1), 0]
            at[:] = 0
            moved = 1
            while moved != 0:
                moved = 0
                for k in range(_TREES):
                    word = words[
                        np.uint64(root[k] + at[k])
                    ]  # unsigned: numba then adds no check for negative indices
                    right = bins[word >> 8 & 0xFFFFFF] > (word & 0xFF)
                    to = word >> (32 + 16 * right) & 0x7FFF
                    moved |= to ^ at[k]
                    at[k] = to
            for k in range(count):
                score += values[trees[first + k, 2] + at[k] - trees[first + k, 1]]
        out[row] = score


@kernel
def _one_to_bins(x: Array, binned: Binned, out: Bytes) -> None:
    """`to_bins` for one document: the binary searches of all its columns advance together."""
    columns, edges, table, special, zero = binned
    count = len(columns)
    value = np.empty(count, np.float64)
    found = np.zeros(count, np.int64)
    start = np.empty(count, np.int64)
    step = 0
    for c in range(count):
        value[c] = x[columns[c, 0]]
        start[c] = columns[c, 1] if columns[c, 2] > 0 else 0
        step = max(step, columns[c, 2])
    while step > 0:
        for c in range(count):
            found[c] += step if edges[start[c] + found[c] + step - 1] < value[c] else 0
        step >>= 1
    for c in range(count):
        if columns[c, 2] <= 0:
            known = -1.0 < value[c] < -columns[c, 2]
            found[c] = table[columns[c, 1] + int(value[c])] if known else 255
        bin_ = special[c, 1] if abs(value[c]) <= zero else found[c]
        out[c] = special[c, 0] if np.isnan(value[c]) else bin_
