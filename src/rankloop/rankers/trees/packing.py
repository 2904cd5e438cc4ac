"""Trees as the flat arrays that the kernels of `score_kernels.py` read."""

import numpy as np

from rankloop._arrays import Array, Bytes, Floats, Ints
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Trees

__all__ = ["MOST_LEAVES", "checked", "pack"]

MOST_LEAVES = 256  # of a tree for blocks of documents; larger trees are walked

_MOST_EDGES = 255  # bins are bytes; a feature with more thresholds gets several columns
_MOST_WORDS = 1 << 15  # children are 15 bits
_MOST_COLUMNS = 1 << 24
_KINDS = {
    "words": np.dtype(np.int64),
    "trees": np.dtype(np.int64),
    "values": np.dtype(np.float64),
    "columns": np.dtype(np.int64),
    "edges": np.dtype(np.float64),
    "table": np.dtype(np.uint8),
    "special": np.dtype(np.uint8),
    "constants": np.dtype(np.float64),
}
_TABLES = ("trees", "columns", "special")


def pack(trees: Trees) -> dict[str, Array]:
    """The arrays of a `Forest`."""
    nodes = trees.nodes
    if (nodes < 0).any() or not 0 < trees.n_features < 1 << 31:
        raise ValueError("the trees are damaged: sizes below 0 or no features; save the model again")
    size = 2 * nodes + 1
    if size.max(initial=0) > _MOST_WORDS:
        raise ValueError(f"a tree has {nodes.max() + 1} leaves; at most {_MOST_WORDS // 2} can be compiled")
    column, edge, made = _columns(trees)
    if len(made["columns"]) > _MOST_COLUMNS:
        raise ValueError("the trees have too many different categorical splits to be compiled")
    first = np.cumsum(size) - size
    tree = np.repeat(np.arange(len(nodes)), nodes)
    rank = np.arange(len(tree)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
    if (np.maximum(trees.left, trees.right) >= nodes[tree]).any():
        raise ValueError("the trees are damaged: a child does not exist; save the model again")
    left, right = (np.where(child < 0, nodes[tree] + ~child, child) for child in (trees.left, trees.right))
    if (np.minimum(left, right) <= rank).any() or (np.maximum(left, right) >= size[tree]).any():
        raise ValueError("the trees are damaged: a child comes before its parent; save the model again")
    itself = np.arange(size.sum()) - np.repeat(first, size)
    words = 255 | itself << 32 | itself << 48
    words[first[tree] + rank] = edge | column << 8 | left << 32 | right << 48
    return {
        "words": words,
        "trees": np.column_stack((first, nodes, np.cumsum(nodes + 1) - nodes - 1)),
        "values": trees.value,
        "constants": np.array(
            [trees.n_features, trees.zero, trees.bias, trees.divisor, trees.single], np.float64
        ),
        **made,
    }


def checked(arrays: dict[str, Array]) -> dict[str, Array]:
    """The same arrays, if every walk through them ends at a leaf and no index is out of bounds."""
    sound = all(
        arrays[name].dtype == kind and arrays[name].ndim == (2 if name in _TABLES else 1)
        for name, kind in _KINDS.items()
    )
    if not (sound and _within(**arrays)):
        raise ValueError("the arrays are not those of a compiled forest; compile or save it again")
    return arrays


def _within(
    words: Ints,
    trees: Ints,
    values: Floats,
    columns: Ints,
    edges: Floats,
    table: Bytes,
    special: Bytes,
    constants: Floats,
) -> bool:
    if trees.shape[1:] != (3,) or columns.shape[1:] != (3,) or special.shape != (len(columns), 2):
        return False
    first, nodes, leaves = trees.T
    size = 2 * nodes + 1
    if constants.shape != (5,) or (nodes < 0).any() or (nodes > len(words)).any() or size.sum() != len(words):
        return False
    if (first != np.cumsum(size) - size).any() or (leaves != np.cumsum(nodes + 1) - nodes - 1).any():
        return False
    feature, start, half = columns.T
    end = start + np.where(half > 0, 2 * half - 1, -half)
    room = np.where(half > 0, len(edges), len(table))
    place = np.arange(len(words)) - np.repeat(first, size)
    inner, last = place < np.repeat(nodes, size), np.repeat(size, size)
    left, right, column = words >> 32 & 0x7FFF, words >> 48, words >> 8 & 0xFFFFFF
    onward = np.where(inner, np.minimum(left, right) > place, (left == place) & (right == place))
    return bool(
        len(values) == (nodes + 1).sum()
        and ((feature >= 0) & (feature < constants[0]) & (start >= 0) & (end <= room)).all()
        and (half[half > 0] == half.max(initial=0)).all()  # one document searches all columns together
        and half.max(initial=0) & (half.max(initial=0) - 1) <= 0
        and onward.all()
        and (np.maximum(left, right) < last).all()
        and (column[inner] < len(columns)).all()
    )


def _columns(trees: Trees) -> tuple[Ints, Ints, dict[str, Array]]:
    """The column and edge number of each node, and the arrays of the columns."""
    column, edge = np.zeros((2, len(trees.feature)), np.int64)
    columns: list[tuple[int, int, int]] = []
    special: list[tuple[int, int]] = []
    edges: list[Floats] = []
    table: list[Bytes] = [np.empty(0, np.uint8)]
    n_table = 0
    key = trees.feature * 16 + trees.rule
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []
    for nodes in groups:
        feature, rule = int(trees.feature[nodes[0]]), int(trees.rule[nodes[0]])
        cuts, place = np.unique(trees.threshold[nodes], return_inverse=True)
        missing = 0 if rule & LEFT else _MOST_EDGES
        if rule & CATEGORY:
            column[nodes] = len(columns) + place
            if not (cuts[0] >= 0 and cuts[-1] < len(trees.sets)):
                raise ValueError(
                    "the trees are damaged: a set of categories is missing; save the model again"
                )
            for which in cuts.astype(int):
                left = trees.sets[which]
                goes = np.ones(int(left.max(initial=-1)) + 1, np.uint8)
                goes[left] = 0
                columns.append((feature, n_table, -len(goes)))
                special.append((missing, goes[0] if len(goes) else _MOST_EDGES))
                table.append(goes)
                n_table += len(goes)
            continue
        column[nodes] = len(columns) + place // _MOST_EDGES
        edge[nodes] = place % _MOST_EDGES
        for first in range(0, len(cuts), _MOST_EDGES):
            some = cuts[first : first + _MOST_EDGES]
            zero = int(np.searchsorted(some, 0.0))
            columns.append((feature, len(edges), 1))
            special.append((missing if rule & (NAN | ZERO) else zero, missing if rule & ZERO else zero))
            edges.append(some)
    # All columns get the same number of edges, 2 half - 1, so that their searches can advance together.
    half = 1 << (max(map(len, edges), default=1).bit_length() - 1)
    padded = np.full((max(1, len(edges)), 2 * half - 1), np.inf)
    for row, some in zip(padded, edges, strict=False):
        row[: len(some)] = some
    made = np.array(columns, np.int64).reshape(-1, 3)
    searched = made[:, 2] > 0
    made[searched, 1] *= 2 * half - 1
    made[searched, 2] = half
    return (
        column,
        edge,
        {
            "columns": made,
            "special": np.array(special, np.uint8).reshape(-1, 2),
            "edges": padded.ravel(),
            "table": np.concatenate(table),
        },
    )
