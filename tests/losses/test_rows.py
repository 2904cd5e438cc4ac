"""Rows of pairs at every length of a vector, against plain loops, nearly to the last digits."""

import math
from itertools import pairwise

import numpy as np
import pytest

from rankloop.losses import LambdaLoss, LambdaRank, RankNet

RULES = {
    "ranknet": RankNet(),
    "ranknet, ties": RankNet(ties=True),
    "lambdarank": LambdaRank(),
    "lambdarank, near": LambdaRank(norm_gap=True),
    "arp1": LambdaLoss("arp1"),
    "arp2": LambdaLoss("arp2"),
    "ndcg2": LambdaLoss("ndcg2"),
    "ndcg2++": LambdaLoss("ndcg2++"),
}


def discount(rank):
    return 1 / math.log2(1 + rank)


def pair_weight(name, labels, scores, best, i, j):
    """What document i counts for, as the preferred one of ranks i and j (from 1), before item weights."""
    higher, apart = labels[i - 1] > labels[j - 1], abs(i - j)
    gap = 2.0 ** labels[i - 1] - 2.0 ** labels[j - 1]
    if name == "ranknet, ties" and labels[i - 1] == labels[j - 1]:
        return 0.5
    if name == "arp1":
        return labels[i - 1] / math.log(2)
    if not higher:
        return 0.0
    if name.startswith("ranknet"):
        return 1.0
    if name == "arp2":
        return (labels[i - 1] - labels[j - 1]) / math.log(2)
    swap, drop = abs(discount(i) - discount(j)), discount(apart) - discount(apart + 1)
    if name == "lambdarank, near":
        swap /= 0.01 + abs(scores[i - 1] - scores[j - 1])
    if name.startswith("lambdarank"):
        return gap * swap / best
    return gap * (10 * drop + swap if name == "ndcg2++" else drop) / best / math.log(2)


def plain(name, scores, labels, weight):
    """Value, gradient and Hessian of one list by its definition, with sums that round once."""
    order = sorted(range(len(scores)), key=lambda row: -scores[row])
    s, grades, w = ([values[row] for row in order] for values in (scores, labels, weight))
    best = math.fsum((2.0**v - 1) * discount(r) for r, v in enumerate(sorted(grades, reverse=True), start=1))
    value, pull, bend = [], {row: [] for row in order}, {row: [] for row in order}
    for i, up in enumerate(order, start=1):
        for j, down in enumerate(order, start=1):
            if i == j or (x := w[i - 1] * pair_weight(name, grades, s, best, i, j)) == 0:
                continue
            z = s[i - 1] - s[j - 1]
            t = math.exp(-abs(z))
            rho = (t if z > 0 else 1.0) / (1 + t)
            value.append(x * (math.log1p(t) + max(-z, 0.0)))
            for row, sign in ((up, -1), (down, 1)):
                pull[row].append(sign * x * rho)
                bend[row].append(x * t / (1 + t) ** 2)
    rows = range(len(scores))
    return math.fsum(value), [math.fsum(pull[r]) for r in rows], [math.fsum(bend[r]) for r in rows]


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("spread", [1.0, 300.0])
@pytest.mark.parametrize("name", RULES)
def test_rows_of_any_length_equal_plain_loops(name, spread, weighed):
    rng = np.random.default_rng(0)
    lengths = [*range(2, 20), 33, 40]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    scores = spread * rng.normal(size=offsets[-1])
    labels = rng.integers(0, 5, offsets[-1])
    labels[offsets[:-1]], labels[offsets[:-1] + 1] = 0, 4  # no list without a pair
    weight = rng.uniform(0.5, 2.0, offsets[-1]).astype(np.float32) if weighed else None
    found = RULES[name](scores, labels, offsets, weight=weight)
    slopes = RULES[name].derivatives(scores, labels, offsets, weight=weight)
    for q, (start, stop) in enumerate(pairwise(offsets)):
        one = np.ones(stop - start) if weight is None else weight[start:stop].astype(float)
        value, gradient, hessian = plain(name, scores[start:stop], labels[start:stop].astype(float), one)
        size = np.abs(gradient).max()
        np.testing.assert_allclose(found.value[q], value, rtol=1e-12)
        np.testing.assert_allclose(found.gradient[start:stop], gradient, rtol=1e-12, atol=1e-13 * size)
        np.testing.assert_allclose(found.hessian[start:stop], hessian, rtol=1e-12, atol=1e-13 * size)
        loose = 1e-6 if name == "lambdarank" else 1e-12  # single precision where trees may have it
        np.testing.assert_allclose(slopes[0][start:stop], gradient, rtol=loose, atol=loose * size)
        np.testing.assert_allclose(slopes[1][start:stop], hessian, rtol=loose, atol=loose * size)


@pytest.mark.parametrize("cut", [1, 2, 3, 6, 7, 8, 9, 50])
def test_the_last_row_within_the_truncation_may_stand_alone(cut):
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=24), rng.integers(0, 3, 24)
    everything = [LambdaLoss("arp2", truncation=k)(scores, labels, [0, 24]).value[0] for k in (cut, None)]
    order = np.argsort(-scores)
    below = order[cut:]
    rest = LambdaLoss("arp2")(scores[below], labels[below], [0, max(24 - cut, 0)]).value[0] if cut < 23 else 0
    np.testing.assert_allclose(everything[0] + rest, everything[1], rtol=1e-12)
