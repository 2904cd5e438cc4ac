"""Shapley values of forests with linear leaves."""

from math import lgamma

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, part
from rankloop.rankers.trees.linear_leaves import LinearForest, Members, goes_left

__all__ = ["shares_of_lines"]

_OWN, _OTHER = 1, 2  # which of the two documents has the value that leads to the leaf


def shares_of_lines(forest: LinearForest, row: Singles, background: Singles) -> Floats:
    r"""Shapley values of one document, background × features: absent features are the background's.

    A mixture of the document and a background document reaches a leaf if it has the features of a set A from
    the document and those of a set B from the other. The Shapley values of such a game have a closed form:

    .. math:: \phi_{i \in A} = \frac{(|A|-1)!\,|B|!}{(|A|+|B|)!},\quad
        \phi_{i \in B} = -\frac{|A|!\,(|B|-1)!}{(|A|+|B|)!}

    A term of the leaf on a feature in neither set is the same game with that feature added to A.
    """
    most = 2 * forest.depth + 2 + int(np.diff(forest.terms).max(initial=0))
    weights = np.zeros((most + 1, most + 1))
    for a in range(1, most + 1):
        for b in range(most + 1 - a):
            weights[a, b] = np.exp(lgamma(a) + lgamma(b + 1) - lgamma(a + b + 1))
    shares = np.zeros((len(background), forest.n_features))
    x, others = np.ascontiguousarray(row, np.float64), np.ascontiguousarray(background, np.float64)
    add_shares(x, others, *forest.walk, forest.leaves, weights, shares)
    return shares / forest.divisor


@part
def side_of(feature: int, path: Ints, whose: Ints, size: int) -> int:
    """The side of a feature on the path; 0 if it is not there."""
    for i in range(size):
        if path[i] == feature:
            return int(whose[i])
    return 0


@part
def add_game(path: Ints, whose: Ints, size: int, payoff: float, weights: Floats, out: Floats) -> None:
    """Add the Shapley values of a game that pays if each feature of the path is from its side."""
    own = 0
    for i in range(size):
        own += whose[i] == _OWN
    other = size - own
    for i in range(size):
        out[path[i]] += payoff * weights[own, other] if whose[i] == _OWN else -payoff * weights[other, own]


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
    """Add the games of one leaf: plain value, constant and linear terms.

    The linear function holds where none of its features is missing, else the plain value.
    """
    plain, constant, terms, term_feature, coefficient = leaves
    whole = size
    for t in range(terms[leaf], terms[leaf + 1]):
        f = term_feature[t]
        side = side_of(f, path, whose, size)
        missing = np.isnan(x[f]) if side == _OWN else np.isnan(z[f])
        if side == 0:
            missing = np.isnan(x[f]) and np.isnan(z[f])
        if missing:
            add_game(path, whose, size, plain[leaf], weights, out)
            return
        if side == 0 and np.isnan(x[f]) != np.isnan(z[f]):
            path[whole], whose[whole] = f, _OTHER if np.isnan(x[f]) else _OWN
            whole += 1
    payoff = constant[leaf]
    if whole > size:
        add_game(path, whose, size, plain[leaf], weights, out)
        payoff -= plain[leaf]
    for t in range(terms[leaf], terms[leaf + 1]):
        f = term_feature[t]
        side = side_of(f, path, whose, whole)
        payoff += coefficient[t] * (x[f] if side == _OWN else z[f])
        if side == 0:
            path[whole], whose[whole] = f, _OWN
            add_game(path, whose, whole + 1, coefficient[t] * (x[f] - z[f]), weights, out)
    add_game(path, whose, whole, payoff, weights, out)


@kernel
def add_shares(
    x: Floats,
    background: Floats,
    roots: Ints,
    nodes: tuple[Ints, Floats, Ints, Ints, Ints],
    sets: tuple[Members, Ints],
    leaves: tuple[Floats, Floats, Ints, Ints, Floats],
    weights: Floats,
    out: Floats,
) -> None:
    """One row of `out` per background document: all leaves that a mixture of the two can reach.

    A depth-first walk: where both documents go the same way there is one path, else the path splits, and the
    feature is fixed to one side further down. So only reachable leaves are visited.
    """
    feature, threshold, rule, left, right = nodes
    members, starts = sets
    most = len(weights)
    path, whose = np.empty(most, np.int64), np.empty(most, np.int64)
    waiting = np.empty((most, 4), np.int64)  # stack: child, length of its path, its feature, its side
    for s in range(len(background)):
        z = background[s]
        for root in roots:
            # `path` and `whose` hold the features that are fixed so far, and to which of the two documents.
            waiting[0] = root, 0, 0, 0
            count = 1
            while count > 0:
                count -= 1
                node, size = waiting[count, 0], waiting[count, 1]
                if waiting[count, 3] != 0:
                    path[size], whose[size] = waiting[count, 2], waiting[count, 3]
                    size += 1
                # Down to a leaf; where the two documents part, the other side waits on the stack.
                while node >= 0:
                    f = feature[node]
                    own_left = goes_left(x[f], threshold[node], rule[node], members, starts)
                    other_left = goes_left(z[f], threshold[node], rule[node], members, starts)
                    if own_left != other_left:
                        side = side_of(f, path, whose, size)
                        if side == 0:
                            waiting[count] = right[node] if own_left else left[node], size, f, _OTHER
                            count += 1
                            path[size], whose[size] = f, _OWN
                            size += 1
                        elif side == _OTHER:
                            own_left = other_left
                    node = left[node] if own_left else right[node]
                add_leaf(~node, x, z, leaves, path, whose, size, weights, out[s])
