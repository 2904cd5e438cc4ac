"""Item weights of 1 / propensity: the mean over what people examine is the metric of what is relevant."""

from itertools import product

import numpy as np
import pytest

from rankloop import RankingDataset, metrics
from rankloop.metrics.kernels.measure import MEASURES

SCORES = np.array([2.0, 1.0, 1.0, 0.5, -1.0])  # with a tie
RELEVANT = np.array([0, 1, 1, 0, 1])
PROPENSITY = np.array([0.9, 0.5, 0.7, 0.3, 0.25])  # of examining each document, by the ranking that was shown
OFFSETS = [0, 5]


def outcomes():
    """Every set of examined documents, with its chance: clicks are on what is examined and relevant."""
    for examined in product((0, 1), repeat=5):
        seen = np.array(examined)
        yield np.where(seen, PROPENSITY, 1 - PROPENSITY).prod(), RELEVANT * seen


def expected(value):
    return sum(chance * value(clicks) for chance, clicks in outcomes())


def weighted(name, clicks, **options):
    weight = 1 / PROPENSITY
    return getattr(metrics, name)(SCORES, clicks, OFFSETS, weight=weight, empty="zero", **options)[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dcg", {}),
        ("dcg", {"k": 2}),
        ("dcg", {"gain": "linear"}),
        ("precision", {"k": 3}),
        ("rbp", {"p": 0.7}),
        ("err", {"max_label": 3}),  # products of different documents, which are examined independently
    ],
)
def test_the_expectation_of_the_weighted_metric_is_the_metric(name, options):
    truth = getattr(metrics, name)(SCORES, RELEVANT, OFFSETS, **options)[0]
    assert expected(lambda clicks: weighted(name, clicks, **options)) == pytest.approx(truth, rel=1e-6)


def best(weight):
    """What the best order of relevant documents adds up to in average precision."""
    total = before = 0.0
    for rank, w in enumerate(sorted(weight[weight > 0], reverse=True), 1):
        total, before = total + w * (1 + before) / rank, before + w
    return total


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("recall", lambda clicks: (clicks / PROPENSITY).sum()),
        ("arp", lambda clicks: (clicks / PROPENSITY).sum()),
        ("average_precision", lambda clicks: best(clicks / PROPENSITY)),
    ],
)
def test_of_normalised_metrics_it_is_the_numerator(name, base):
    """The quotient of two expectations is not the expectation of the quotient."""
    options = {"k": 3} if name == "recall" else {}
    truth = getattr(metrics, name)(SCORES, RELEVANT, OFFSETS, **options)[0]
    mean = expected(lambda clicks: weighted(name, clicks, **options) * base(clicks))
    assert mean == pytest.approx(truth * RELEVANT.sum(), rel=1e-6)
    assert expected(lambda clicks: weighted(name, clicks, **options)) != pytest.approx(truth, rel=0.01)


WEIGHED = sorted(name for name, one in MEASURES.items() if "weight" in one.data)
PAIRS = ("inversions", "pair_accuracy")  # a document stays the worse one of its pairs


@pytest.mark.parametrize("name", [name for name in WEIGHED if name not in PAIRS])
def test_a_document_of_weight_zero_is_not_relevant(name):
    labels, weight = np.array([1, 2, 0, 2, 1]), np.array([1.0, 0.0, 1.0, 0.5, 1.0])
    options = {"max_label": 2} if name == "err" else {}
    function = getattr(metrics, name)
    without = function(SCORES, labels, OFFSETS, weight=weight, **options)
    nothing = function(SCORES, labels * (weight > 0), OFFSETS, weight=weight, **options)
    np.testing.assert_allclose(without, nothing)
    # A weight near 0 counts for nearly nothing; the first relevant document is found whatever it weighs.
    if name not in ("hit", "reciprocal_rank", "r_precision"):
        near = function(SCORES, labels, OFFSETS, weight=np.where(weight == 0, 1e-7, weight), **options)
        np.testing.assert_allclose(near, without, atol=1e-5)


def test_average_precision_by_hand():
    """Ranks 1 and 3 are relevant, of weight 2 and 1: (2 + 1 * (1 + 2) / 3) / (2 + 1 * (1 + 2) / 2)."""
    found = metrics.average_precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], weight=[2, 1, 1])
    assert found[0] == pytest.approx(3 / 3.5)


def test_intervals_of_heavy_weights_are_not_cut_at_one():
    data = RankingDataset(
        np.zeros((6, 1)), [1, 1, 1, 1, 1, 0], qid=[1, 1, 2, 2, 3, 3], item_weight=[4, 4, 2, 2, 3, 1]
    )
    found = metrics.evaluate(np.arange(6.0)[::-1].copy(), data, "p@2")
    assert found.mean["p@2"] > 1
    assert found.interval["p@2"][1] > found.mean["p@2"]
