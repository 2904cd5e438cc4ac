"""Shapley values of forests whose leaves are lines."""

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, part
from rankloop.rankers.trees.linear_leaves import Floats, Ints, LinearForest, Members, goes_left

__all__ = ["shares_of_lines"]

_OWN, _OTHER = 1, 2  # whose value of a feature leads to a leaf


def shares_of_lines(forest: LinearForest, row: NDArray[np.float32], behind: NDArray[np.float32]) -> Floats:
    r"""Shares in the score of a document, strangers × features: absent features are those of a stranger.

    A document and a stranger together reach a leaf if features of a set A are the document's and those of a
    set B the stranger's. The Shapley values of such a game are known:

    .. math:: \phi_{i \in A} = \frac{(|A|-1)!\,|B|!}{(|A|+|B|)!},\quad
        \phi_{i \in B} = -\frac{|A|!\,(|B|-1)!}{(|A|+|B|)!}

    A term of the leaf on a feature that is in neither is the same game, with that feature in A too.
    """
    most = 2 * forest.depth + 2 + int(np.diff(forest.terms).max(initial=0))
    weights = np.zeros((most + 1, most + 1))
    for a in range(1, most + 1):
        for b in range(most + 1 - a):
            weights[a, b] = np.exp(lgamma(a) + lgamma(b + 1) - lgamma(a + b + 1))
    shares = np.zeros((len(behind), forest.n_features))
    x, others = np.ascontiguousarray(row, np.float64), np.ascontiguousarray(behind, np.float64)
    add_shares(x, others, *forest.walk, forest.leaves, weights, shares)
    return shares / forest.divisor


@part
def add_game(path: Ints, whose: Ints, size: int, worth: float, weights: Floats, out: Floats) -> None:
    """The shares of a game that is won where everybody of the path is on the side it needs."""
    own = 0
    for i in range(size):
        own += whose[i] == _OWN
    other = size - own
    for i in range(size):
        out[path[i]] += worth * weights[own, other] if whose[i] == _OWN else -worth * weights[other, own]


@part
def add_leaf(
    leaf: int,
    x: Floats,
    z: Floats,
    leaves: tuple[Floats, Floats, Ints, Ints, Floats],
    path: Ints,
    whose: Ints,
    size: int,
    weights: Floats,
    out: Floats,
) -> None:
    """A line holds where none of its features is missing, else the plain value: two games, and the terms."""
    plain, constant, terms, term_feature, coefficient = leaves
    whole = size
    for t in range(terms[leaf], terms[leaf + 1]):
        f = term_feature[t]
        side = 0
        for i in range(size):
            if path[i] == f:
                side = whose[i]
        gone = np.isnan(x[f]) if side == _OWN else np.isnan(z[f])
        if side == 0:
            gone = np.isnan(x[f]) and np.isnan(z[f])
        if gone:
            add_game(path, whose, size, plain[leaf], weights, out)
            return
        if side == 0 and np.isnan(x[f]) != np.isnan(z[f]):
            path[whole], whose[whole] = f, _OTHER if np.isnan(x[f]) else _OWN
            whole += 1
    worth = constant[leaf]
    if whole > size:
        add_game(path, whose, size, plain[leaf], weights, out)
        worth -= plain[leaf]
    for t in range(terms[leaf], terms[leaf + 1]):
        f = term_feature[t]
        side = 0
        for i in range(whole):
            if path[i] == f:
                side = whose[i]
        worth += coefficient[t] * (x[f] if side == _OWN else z[f])
        if side == 0:
            path[whole], whose[whole] = f, _OWN
            add_game(path, whose, whole + 1, coefficient[t] * (x[f] - z[f]), weights, out)
    add_game(path, whose, whole, worth, weights, out)


@kernel
def add_shares(
    x: Floats,
    behind: Floats,
    roots: Ints,
    nodes: tuple[Ints, Floats, Ints, Ints, Ints],
    sets: tuple[Members, Ints],
    leaves: tuple[Floats, Floats, Ints, Ints, Floats],
    weights: Floats,
    out: Floats,
) -> None:
    """One row of `out` for each stranger: all leaves that the two can reach together."""
    feature, threshold, rule, left, right = nodes
    members, starts = sets
    most = len(weights)
    path, whose = np.empty(most, np.int64), np.empty(most, np.int64)
    waiting = np.empty((most, 4), np.int64)  # child, length of the path before it, its feature, whose it is
    for s in range(len(behind)):
        z = behind[s]
        for root in roots:
            waiting[0] = root, 0, 0, 0
            count = 1
            while count > 0:
                count -= 1
                node, size = waiting[count, 0], waiting[count, 1]
                if waiting[count, 3] != 0:
                    path[size], whose[size] = waiting[count, 2], waiting[count, 3]
                    size += 1
                while node >= 0:
                    f = feature[node]
                    mine = goes_left(x[f], threshold[node], rule[node], members, starts)
                    theirs = goes_left(z[f], threshold[node], rule[node], members, starts)
                    if mine != theirs:
                        side = 0
                        for i in range(size):
                            if path[i] == f:
                                side = whose[i]
                        if side == 0:
                            waiting[count] = right[node] if mine else left[node], size, f, _OTHER
                            count += 1
                            path[size], whose[size] = f, _OWN
                            size += 1
                        elif side == _OTHER:
                            mine = theirs
                    node = left[node] if mine else right[node]
                add_leaf(~node, x, z, leaves, path, whose, size, weights, out[s])
