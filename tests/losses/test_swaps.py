"""Every pair weight of the lambda losses against the metric, recomputed with the two documents swapped.

One explicit pair at a time isolates the weight of a pair: the value of the loss is then that weight times the
logistic loss of the pair. Scores have no ties; what ties of scores do is tested elsewhere.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import NAIVE, naive_gain
from rankloop.data import Pairs
from rankloop.losses import LambdaGap, LambdaLoss, LambdaRank
from rankloop.losses.kernels.swap import METRICS

GAINS = ("exp2", "linear", (0.0, 1.0, 1.5, 4.0, 4.5))
MEASURED = {
    "ndcg": "ndcg",
    "dcg": "dcg",
    "err": "err",
    "map": "average_precision",
    "mrr": "reciprocal_rank",
    "precision": "precision",
    "arp": "arp",
}


@st.composite
def rankings(draw, max_length=8):
    """Labels by rank, the scores of the ranks, and the rows in which the ranks are stored."""
    labels = draw(st.lists(st.integers(0, 4), min_size=2, max_size=max_length))
    gaps = draw(st.lists(st.floats(0.01, 3), min_size=len(labels), max_size=len(labels)))
    rows = draw(st.permutations(range(len(labels))))
    return labels, -np.cumsum(gaps), np.array(rows)


def pair_weights(loss, labels, scores, rows, chosen):
    """The weight of each chosen pair of ranks, the better label first; one list per pair, one call."""
    n = len(labels)
    by_row = np.argsort(rows)
    each = len(chosen)
    better, worse = np.array([(i, j) if labels[i] >= labels[j] else (j, i) for i, j in chosen]).T
    starts = n * np.arange(each)
    made = loss(
        np.tile(scores[by_row], each),
        np.tile(np.array(labels, np.float32)[by_row], each),
        np.arange(0, each * n + 1, n),
        pairs=Pairs(starts + rows[better], starts + rows[worse]),
    )
    apart = loss.sigma * (scores[better] - scores[worse])
    return made.value / np.log1p(np.exp(-apart))


def swapped(labels, i, j):
    made = list(labels)
    made[i], made[j] = made[j], made[i]
    return made


def naive_change(metric, labels, i, j, *, truncation, gain, relevance_threshold):
    """|M(ranking) - M(ranking with ranks i and j swapped)|, by the plain definition of the metric."""
    options = {
        "ndcg": {"gain": gain},
        "dcg": {"gain": gain},
        "err": {"max_label": 4},
        "map": {"relevance_threshold": relevance_threshold},
        "mrr": {"relevance_threshold": relevance_threshold},
        "precision": {"relevance_threshold": relevance_threshold, "k": truncation},
        "arp": {},
    }[metric]
    before, after = (
        NAIVE[MEASURED[metric]](one, labels, **options) for one in (labels, swapped(labels, i, j))
    )
    if before is None:
        return 0.0
    change = abs(after - before)
    if metric == "ndcg" and truncation:  # the whole ranking is discounted, the ideal ends at the truncation
        best = sorted(labels, key=lambda label: -naive_gain(label, gain))
        every, cut = (NAIVE["dcg"](best, labels, k=k, gain=gain) for k in (None, truncation))
        change *= every / cut
    return change


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(ranking=rankings(), data=st.data())
def test_lambdarank_weighs_every_pair_by_the_change_of_the_metric(metric, ranking, data):
    labels, scores, rows = ranking
    n = len(labels)
    options = {
        "truncation": data.draw(
            st.integers(1, n + 1) if metric == "precision" else st.none() | st.integers(1, n)
        ),
        "gain": data.draw(st.sampled_from(GAINS)),
        "relevance_threshold": data.draw(st.integers(1, 3)),
    }
    sigma = data.draw(st.sampled_from((0.5, 1.0, 2.0)))
    loss = LambdaRank(metric=metric, max_label=4, sigma=sigma, **options)
    chosen = [(i, j) for i, j in combinations(range(n), 2) if labels[i] != labels[j]]
    if not chosen:
        return
    found = pair_weights(loss, labels, scores, rows, chosen)
    # A pair counts if one of the two is among the first `truncation` ranks.
    kept = [options["truncation"] is None or i < options["truncation"] for i, _ in chosen]
    expected = [
        naive_change(metric, labels, i, j, **options) if keep else 0.0
        for (i, j), keep in zip(chosen, kept, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(ranking=rankings(), truncation=st.none() | st.integers(1, 8))
def test_lambdagap_divides_the_change_by_the_gap_of_the_scores(ranking, truncation):
    labels, scores, rows = ranking
    chosen = [(i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] != labels[j]]
    if not chosen:
        return
    options = {"truncation": truncation, "gain": "exp2", "relevance_threshold": 1}
    found = pair_weights(LambdaGap(truncation=truncation), labels, scores, rows, chosen)
    expected = [
        naive_change("ndcg", labels, i, j, **options) / (0.01 + scores[i] - scores[j])
        if truncation is None or i < truncation
        else 0.0
        for i, j in chosen
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["ndcg2", "ndcg2++", "arp2"])
@settings(max_examples=40)
@given(ranking=rankings(), data=st.data())
def test_lambdaloss_weighs_every_pair_as_its_paper_says(form, ranking, data):
    labels, scores, rows = ranking
    truncation, gain = data.draw(st.none() | st.integers(1, len(labels))), data.draw(st.sampled_from(GAINS))
    chosen = [(i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] != labels[j]]
    if not chosen:
        return
    loss = LambdaLoss(form=form, truncation=truncation, gain=gain, mu=3.0)
    found = pair_weights(loss, labels, scores, rows, chosen) * math.log(2)  # logarithms to base 2
    best = NAIVE["dcg"](
        sorted(labels, key=lambda label: -naive_gain(label, gain)), labels, k=truncation, gain=gain
    )
    expected = []
    for i, j in chosen:
        apart = j - i
        near = 1 / math.log2(1 + apart) - 1 / math.log2(2 + apart)
        change = naive_change("ndcg", labels, i, j, truncation=truncation, gain=gain, relevance_threshold=1)
        gap = abs(naive_gain(labels[i], gain) - naive_gain(labels[j], gain)) / best if best else 0.0
        weight = {
            "ndcg2": near * gap,
            "ndcg2++": change + 3.0 * near * gap,
            "arp2": abs(labels[i] - labels[j]),
        }
        expected.append(weight[form] if truncation is None or i < truncation else 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=20)
@given(ranking=rankings(max_length=12), truncation=st.integers(1, 12))
def test_the_gradient_is_the_sum_over_the_pairs(metric, ranking, truncation):
    """All pairs at once, as in training: the labels make the pairs; `derivatives` is in single precision."""
    labels, scores, rows = ranking
    loss = LambdaRank(metric=metric, max_label=4, truncation=truncation)
    expected = np.zeros(len(labels))
    for i, j in combinations(range(len(labels)), 2):
        if labels[i] == labels[j] or i >= truncation:
            continue
        better, worse = (i, j) if labels[i] > labels[j] else (j, i)
        weight = naive_change(metric, labels, i, j, truncation=truncation, gain="exp2", relevance_threshold=1)
        force = weight / (1 + math.exp(scores[better] - scores[worse]))
        expected[rows[better]] -= force
        expected[rows[worse]] += force
    by_row = np.argsort(rows)
    given = scores[by_row], np.array(labels, np.float32)[by_row], [0, len(labels)]
    np.testing.assert_allclose(loss(*given).gradient, expected, rtol=1e-9, atol=1e-12)
    # In single precision: relative to the largest lambda of the list.
    atol = 1e-6 * max(1e-9, np.abs(expected).max())
    np.testing.assert_allclose(loss.derivatives(*given)[0], expected, atol=atol)


@pytest.mark.parametrize("truncation", [None, 3])
@pytest.mark.parametrize("metric", ["ndcg", "dcg", "arp"])
def test_a_tie_in_another_list_changes_nothing(metric, truncation):
    """Lists without any tie take a shorter way, which must give the same."""
    loss = LambdaRank(metric=metric, truncation=truncation)
    scores, labels = np.array([0.3, 2.0, -1.0, 0.7, 1.1]), np.array([2, 0, 1, 0, 3])
    alone = loss(scores, labels, [0, 5])
    beside = loss(np.append(scores, [1.0, 1.0]), np.append(labels, [0, 1]), [0, 5, 7])
    np.testing.assert_allclose(beside.value[0], alone.value[0], rtol=1e-12)
    np.testing.assert_allclose(beside.gradient[:5], alone.gradient, rtol=1e-12)
    np.testing.assert_allclose(beside.hessian[:5], alone.hessian, rtol=1e-12)
