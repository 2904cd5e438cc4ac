"""A tie counts as the mean over all orders of its documents: every order enumerated, up to 5,040 of them."""

from itertools import chain, groupby, permutations, product

import numpy as np
import pytest

from rankloop import metrics
from rankloop.metrics.kernels.measure import MEASURES

# Tau-b corrects for ties in its own way; the others promise the expected value. Those that need subtopics are
# tested apart.
EXPECTED = sorted(
    name for name, one in MEASURES.items() if name != "kendall_tau" and "subtopics" not in one.data
)
VARIANTS = {
    "average_precision": [{"divide_by": way} for way in ("relevant", "reachable", "found")],
    "precision": [{"divide_by": way} for way in ("k", "shown")],
    "ndcg": [{"gain": "exp2"}, {"gain": "linear"}, {"gain": (0.0, 0.0, 1.0, 5.0, 5.0)}],
    "dcg": [{"gain": "linear"}, {"gain": (0.0, 0.0, 1.0, 5.0, 5.0)}],
    "err": [{"gain": "exp2", "max_label": 4}, {"gain": "linear", "max_label": 4}],
    "rbp": [{"p": 0.5}],
}
WORLDS = [(length, levels) for length in (1, 2, 3, 5, 6, 7) for levels in (1, 2, 3)]


def every_order(scores):
    """All orders of the rows in which the scores do not rise."""
    rows = sorted(range(len(scores)), key=lambda i: -scores[i])
    blocks = [list(block) for _, block in groupby(rows, key=lambda i: scores[i])]
    return np.array([list(chain(*made)) for made in product(*(permutations(block) for block in blocks))])


def mean_over_orders(function, scores, columns, pool, options):
    """The metric of each order as a list of its own, with scores that fall from rank to rank."""
    orders = every_order(scores)
    number, n = orders.shape
    given = {name: column[orders].ravel() for name, column in columns.items()}
    if pool is not None:
        given["pool_labels"] = np.tile(pool, number)
        given["pool_offsets"] = np.arange(0, number * len(pool) + 1, len(pool))
    falling = np.tile(-np.arange(n, dtype=float), number)
    labels = given.pop("labels")
    return function(falling, labels, np.arange(0, number * n + 1, n), **given, **options).mean()


@pytest.mark.parametrize("name", EXPECTED)
def test_ties_count_as_the_mean_over_all_their_orders(name):
    rng = np.random.default_rng(len(name))
    one = MEASURES[name]
    compared = 0
    for length, levels in WORLDS:
        for given in VARIANTS.get(name, [{}]):
            options = dict(given)
            if "k" in one.options:
                options["k"] = rng.choice([None, 1, 2, 3, 5, 10])
            if "relevance_threshold" in one.options:
                options["relevance_threshold"] = int(rng.integers(1, 4))
            scores = rng.integers(0, levels, length).astype(float)
            columns = {"labels": rng.choice(5, length, p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(np.float32)}
            weighted = "weight" in one.data and options.get("divide_by") not in ("reachable", "found")
            if weighted and rng.random() < 0.4:
                columns["weight"] = rng.choice([0.0, 0.25, 1.0], length)
            pool = None
            if "pool_labels" in one.data and "weight" not in columns and rng.random() < 0.5:
                pool = np.append(columns["labels"], rng.integers(0, 5, 2)).astype(np.float32)
            expected = mean_over_orders(one.function, scores, columns, pool, options)
            extra = {} if pool is None else {"pool_labels": pool, "pool_offsets": [0, len(pool)]}
            labels = columns.pop("labels")
            found = one.function(scores, labels, [0, length], **columns, **extra, **options)
            np.testing.assert_allclose(found[0], expected, rtol=1e-10, atol=1e-13, err_msg=str(options))
            compared += bool(np.isfinite(expected))
    assert compared >= len(WORLDS) // 2


def test_seven_tied_documents_by_hand():
    """One relevant document among seven that tie is at each rank with chance 1/7."""
    tied, labels, whole = np.zeros(7), np.eye(7)[3], [0, 7]
    harmonic = sum(1 / rank for rank in range(1, 8))
    assert metrics.reciprocal_rank(tied, labels, whole)[0] == pytest.approx(harmonic / 7)
    assert metrics.precision(tied, labels, whole, k=3)[0] == pytest.approx(1 / 7)
    assert metrics.arp(tied, labels, whole)[0] == pytest.approx(4.0)
    assert metrics.pair_accuracy(tied, labels, whole)[0] == pytest.approx(0.5)
