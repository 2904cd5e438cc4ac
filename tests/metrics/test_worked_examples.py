"""Numbers worked by hand, and published ones."""

from math import log2

import numpy as np
import pytest

from rankloop import metrics

# Five documents, two queries: d2 of (d1, d2) and d3, d5 of (d3, d4, d5) are relevant.
SCORES, LABELS, OFFSETS = [2.0, 1.0, 3.0, 2.0, 1.0], [0, 1, 1, 0, 1], [0, 2, 5]


@pytest.mark.parametrize(
    ("name", "per_list", "mean"),
    [
        ("map", [1 / 2, 5 / 6], 2 / 3),
        ("mrr", [1 / 2, 1], 3 / 4),
        ("err", [1 / 4, 7 / 12], 5 / 12),
        ("ndcg", [1 / log2(3), 1.5 / (1 + 1 / log2(3))], None),
        ("p@2", [1 / 2, 1 / 2], 1 / 2),
        ("recall@2", [1, 1 / 2], 3 / 4),
        ("f1@2", [2 / 3, 1 / 2], None),
        ("hit@1", [0, 1], 1 / 2),
        ("rprec", [0, 1 / 2], 1 / 4),
        ("arp", [2, 2], 2),
        ("rbp(p=0.5)", [1 / 4, 5 / 8], None),
        ("pair_accuracy", [0, 1 / 2], 1 / 4),
        ("inversions", [1, 1], 1),
    ],
)
def test_the_five_documents_of_the_introduction(name, per_list, mean):
    made = metrics.metric(name)(SCORES, LABELS, OFFSETS)
    np.testing.assert_allclose(made, per_list, rtol=1e-12)
    if mean is not None:
        assert metrics.mean(made) == pytest.approx(mean)


def test_the_figures_as_printed_there():
    made = metrics.ndcg(SCORES, LABELS, OFFSETS)
    assert made.round(3).tolist() == [0.631, 0.92]


def test_the_gains_of_järvelin_and_kekäläinen():
    """Their ranking 3 2 3 0 0 1 2 2 3 0 with linear gains, discounted by log2(1 + rank)."""
    labels = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    made = metrics.dcg(-np.arange(10.0), labels, [0, 10], gain="linear")
    assert made[0] == pytest.approx(sum(label / log2(r + 1) for r, label in enumerate(labels, 1)))


def test_tau_is_that_of_scipy():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, labels = rng.integers(0, 6, 30), rng.integers(0, 5, 30)
        ours = metrics.kendall_tau(scores, labels, [0, 30])[0]
        assert ours == pytest.approx(kendalltau(scores, labels).statistic, abs=1e-12)


def test_pair_accuracy_of_two_grades_is_the_area_under_the_curve():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 20, 500), rng.integers(0, 2, 500)
    assert metrics.pair_accuracy(scores, labels, [0, 500])[0] == pytest.approx(roc_auc_score(labels, scores))


@pytest.mark.parametrize(
    ("divide_by", "expected"),
    [("relevant", (1 + 2 / 3) / 4), ("reachable", (1 + 2 / 3) / 3), ("found", 5 / 6)],
)
def test_what_average_precision_divides_by(divide_by, expected):
    made = metrics.average_precision([5, 4, 3, 2, 1], [1, 0, 1, 1, 1], [0, 5], k=3, divide_by=divide_by)
    assert made[0] == pytest.approx(expected)


def test_average_precision_over_what_was_found_averages_ties_at_the_cut():
    """Relevant, then two tied documents of which one is relevant, cut after two: (1 + 1) / 2 or 1 / 1."""
    made = metrics.average_precision([2, 1, 1], [1, 1, 0], [0, 3], k=2, divide_by="found")
    assert made[0] == pytest.approx(1.0)
    made = metrics.average_precision([2, 1, 1, 1], [0, 1, 1, 0], [0, 4], k=2, divide_by="found")
    assert made[0] == pytest.approx(2 / 3 * (1 / 2))


def test_the_residual_closes_the_sum():
    scores, offsets = -np.arange(6.0), [0, 6]
    all_relevant = metrics.rbp(scores, np.ones(6), offsets, p=0.7)
    assert all_relevant + metrics.rbp_residual(offsets, p=0.7) == pytest.approx(1)
    assert metrics.rbp_residual(offsets, p=0.7, k=2) == pytest.approx(0.49)


def test_err_takes_the_best_grade_from_the_whole_data_set():
    alone = metrics.err([1.0], [1], [0, 1])
    beside_better = metrics.err([1.0, 1.0], [1, 4], [0, 1, 2])
    assert alone[0] == 1 / 2
    assert beside_better.tolist() == [1 / 16, 15 / 16]
