"""Sums of sigmoids over a long list, in time that grows with its length.

The sums are smooth in both scores. Each stretch of scores with many documents is stood for by a few points:
what the documents weigh is spread over them (by the polynomials through them), the sums are taken between the
points alone, and interpolated back. With `NODES` Chebyshev points on a stretch of `WIDTH` temperatures the
result differs from the direct sum by about 1e-13 of the largest: the sigmoid is analytic up to a distance of
pi from the real line, so the error falls by a factor of 3.4 with each point.
"""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.losses.kernels.math import exp_negative, fast, inner

__all__ = ["LONG", "smooth_sums"]

LONG = 3000  # documents of a list from which this way is taken: below, the direct sums are as quick
NODES = 30
WIDTH = 4.0
_FAR = 40.0  # gaps from which a sigmoid is 0 or 1 in double precision
_WIDE = 1e6  # a range of scores in which gaps above `_FAR` are shortened before anything is rounded

_ANGLES = np.pi * (2 * np.arange(NODES)[::-1] + 1) / (2 * NODES)
_POINTS = np.cos(_ANGLES)  # rising, in (-1, 1)
_WEIGHTS = np.sin(_ANGLES) * (-1.0) ** np.arange(NODES)


def smooth_sums(scores: Floats, slope: float, columns: Floats, *, steep: bool) -> Floats:
    r"""For each document the sums over all j of :math:`\sigma(slope (s_j - s_i))` times each column.

    With `steep`, the derivative :math:`\sigma (1 - \sigma)` takes the place of the sigmoid. The document
    itself is counted. One row a document, one column each.

    >>> smooth_sums(np.array([0.0, 1.0]), 1.0, np.ones((2, 1)), steep=False).round(4).tolist()
    [[1.2311], [0.7689]]
    """
    order = np.argsort(scores, kind="stable")
    place = _placed(scores[order], slope)
    cell = np.floor(place / WIDTH).astype(np.int64)
    edges = np.concatenate(([0], np.flatnonzero(np.diff(cell)) + 1, [len(cell)]))
    counts = np.diff(edges)
    starts = np.concatenate(([0], np.cumsum(np.minimum(counts, NODES))))
    left = np.asarray(cell[edges[:-1]] * WIDTH, np.float64)
    made = np.empty_like(columns)
    made[order] = _sums(place, columns[order], edges, starts, left, steep, _POINTS, _WEIGHTS)
    return made


def _placed(scores: Floats, slope: float) -> Floats:
    """Rising scores in units of the temperature, from 0."""
    steps = np.diff(scores) * slope  # neighbours first: a difference of all would overflow sooner
    if steps.sum() < _WIDE:
        return np.asarray((scores - scores[0]) * slope)
    return np.concatenate(([0.0], np.cumsum(np.minimum(steps, 2 * _FAR))))


@fast
def _sums(
    place: Floats,
    columns: Floats,
    edges: Ints,
    starts: Ints,
    left: Floats,
    steep: bool,
    nodes: Floats,
    weights: Floats,
) -> Floats:
    width, many = columns.shape[1], nodes.size
    total = starts[-1]
    point, held = np.empty(total), np.zeros((total, width))
    share = np.empty(many)
    # What stands for each stretch: its documents, or the nodes with the documents' weights spread over them.
    for c in range(left.size):
        begin, end, first = edges[c], edges[c + 1], starts[c]
        if end - begin <= many:
            for i in range(begin, end):
                point[first + i - begin] = place[i]
                for w in range(width):
                    held[first + i - begin, w] = columns[i, w]
            continue
        for k in range(many):
            point[first + k] = left[c] + 0.5 * WIDTH * (1.0 + nodes[k])
        for i in range(begin, end):
            _shares(2.0 * (place[i] - left[c]) / WIDTH - 1.0, nodes, weights, share)
            for k in range(many):
                for w in range(width):
                    held[first + k, w] += share[k] * columns[i, w]
    found = _between(point, held, steep)
    # Back to the documents.
    made = np.zeros((place.size, width))
    for c in range(left.size):
        begin, end, first = edges[c], edges[c + 1], starts[c]
        if end - begin <= many:
            for i in range(begin, end):
                for w in range(width):
                    made[i, w] = found[first + i - begin, w]
            continue
        for i in range(begin, end):
            _shares(2.0 * (place[i] - left[c]) / WIDTH - 1.0, nodes, weights, share)
            for k in range(many):
                for w in range(width):
                    made[i, w] += share[k] * found[first + k, w]
    return made


@inner
def _shares(x: float, nodes: Floats, weights: Floats, share: Floats) -> None:
    """The values at x of the polynomials that are 1 at one node and 0 at the others."""
    total = 0.0
    for k in range(nodes.size):
        gap = x - nodes[k]
        if gap == 0.0:
            share[:] = 0.0
            share[k] = 1.0
            return
        share[k] = weights[k] / gap
        total += share[k]
    for k in range(nodes.size):
        share[k] /= total


@inner
def _between(point: Floats, held: Floats, steep: bool) -> Floats:
    """The sums at each point over all points; points rise."""
    n, width = held.shape
    found = np.zeros((n, width))
    above = np.zeros(width)  # what lies so far above that its sigmoid is 1
    for w in range(width):
        for j in range(n):
            above[w] += held[j, w]
    low, high = 0, 0
    for i in range(n):
        while point[i] - point[low] > _FAR:
            low += 1
        while high < n and point[high] - point[i] <= _FAR:
            for w in range(width):
                above[w] -= held[high, w]
            high += 1
        for j in range(low, high):
            gap = point[j] - point[i]
            t = exp_negative(abs(gap))
            by = t / ((1.0 + t) * (1.0 + t)) if steep else (1.0 if gap > 0.0 else t) / (1.0 + t)
            for w in range(width):
                found[i, w] += by * held[j, w]
        if not steep:
            for w in range(width):
                found[i, w] += above[w]
    return found
