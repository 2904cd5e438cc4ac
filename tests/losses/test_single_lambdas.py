"""The single-precision lambdas of LambdaMART against the loss in double precision."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import RankingDataset
from rankloop.losses import LambdaRank, RankNet
from rankloop.losses import loss as find
from strategies import ragged_lists


def prepared(loss, data):
    return loss.prepare(data.y, data.offsets, data.query_weight)


@given(
    ragged_lists(max_length=40),
    st.sampled_from(["ndcg", "dcg"]),
    st.sampled_from([None, 1, 2, 3, 10]),
    st.sampled_from(["exp2", "linear"]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.booleans(),
)
def test_lambdas_are_those_of_the_loss(lists, metric, truncation, gain, sigma, gapped):
    scores, labels, offsets = lists
    loss = LambdaRank(metric=metric, truncation=truncation, gain=gain, sigma=sigma, norm_gap=gapped)
    weight = np.linspace(0.5, 2.0, len(offsets) - 1)
    data = RankingDataset.from_groups(
        np.zeros((len(labels), 1)), labels, np.diff(offsets), query_weight=weight
    )
    gradient, hessian = prepared(loss, data)(scores)
    expected = loss(scores, labels, offsets, query_weight=data.query_weight)
    # a gap of 0.01 is known to the single precision of scores up to 6 apart: 4.8e-7 / 0.01 of it
    scale = 1e-4 * max(np.abs(expected.gradient).max(), expected.hessian.max(), 1e-30)
    np.testing.assert_allclose(gradient, expected.gradient, atol=scale)
    np.testing.assert_allclose(hessian, expected.hessian, atol=scale)


@given(
    ragged_lists(max_length=40),
    st.sampled_from(["", "metric=dcg", "truncation=1", "truncation=3", "truncation=10", "norm_gap=true"]),
    st.integers(0, 99),
)
def test_the_order_of_rows_changes_no_lambda_of_trees(lists, option, seed):
    """Also the first tree, where all scores are equal."""
    scores, labels, offsets = lists
    one, rng = find(f"lambdarank({option})"), np.random.default_rng(seed)
    rows = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])
    for at in (scores, np.zeros(len(scores))):
        plain = one.prepare(labels, offsets)(at)
        moved = one.prepare(labels[rows], offsets)(at[rows])
        for a, b in zip(plain, moved, strict=True):
            np.testing.assert_allclose(b, a[rows], rtol=2e-5, atol=2e-6 * (1e-30 + np.abs(a).max()))


@pytest.mark.parametrize("truncation", [None, 3, 30])
def test_equal_scores_by_hand(truncation):
    """One relevant of n: every pair has the mean difference of two discounts, and a chance of one half."""
    n = 40
    labels, top = np.eye(1, n, 7, dtype=np.float32)[0], n if truncation is None else truncation
    discounts = 1 / np.log2(np.arange(2, n + 2))
    gaps = [discounts[p] - discounts[q] for p in range(n) for q in range(p + 1, n) if p < top]
    swap = sum(gaps) / (n * (n - 1) / 2)
    gradient, hessian = LambdaRank(truncation=truncation).prepare(labels, np.array([0, n]))(np.zeros(n))
    np.testing.assert_allclose(gradient, np.where(labels > 0, -(n - 1), 1) * swap / 2, rtol=1e-5)
    np.testing.assert_allclose(hessian, np.where(labels > 0, n - 1, 1) * swap / 4, rtol=1e-5)


def test_two_documents_by_hand():
    """(2^1 - 1)(1 - 1 / log2 3) over an ideal of 1, divided by 0.01 + 2, times 1 / (1 + e^-2)."""
    data = RankingDataset([[0.0], [1.0]], [0, 1], [7, 7])
    gradient, hessian = prepared(LambdaRank(norm_gap=True), data)(np.array([2.0, 0.0]))
    swap, wrong = (1 - 1 / np.log2(3)) / 2.01, 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(gradient, [swap * wrong, -swap * wrong], rtol=1e-6)
    np.testing.assert_allclose(hessian, [swap * wrong * (1 - wrong)] * 2, rtol=1e-6)


def test_what_lies_out_of_reach():
    data = RankingDataset([[0.0], [1.0]], [0, 1], [7, 7])
    loss = LambdaRank(norm_gap=True)
    assert prepared(loss, data)(np.array([100.0, 0.0])) is None
    assert prepared(LambdaRank(metric="map", norm_gap=True), data) is None
    assert prepared(LambdaRank(norm_list=True), data) is None
    assert prepared(RankNet(), data) is None


def test_labels_between_grades():
    """They are no entries of a table of grades: gains and best orders come from sorting."""
    rng = np.random.default_rng(3)
    data = RankingDataset.from_groups(np.zeros((40, 1)), rng.uniform(0, 3, 40), [25, 15])
    scores = rng.normal(size=40)
    gradient, _ = prepared(LambdaRank(truncation=7), data)(scores)
    expected = LambdaRank(truncation=7)(scores, data.y, data.offsets).gradient
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 33, 500])
def test_lists_of_any_length(length):
    rng = np.random.default_rng(length)
    labels = rng.integers(0, 5, length)
    data = RankingDataset.from_groups(np.zeros((length, 1)), labels, [length])
    loss = LambdaRank(truncation=30, norm_gap=True)
    scores = rng.normal(size=length)
    gradient, _ = prepared(loss, data)(scores)
    np.testing.assert_allclose(
        gradient, loss(scores, labels, data.offsets).gradient, atol=1e-6 * (1 + np.abs(gradient).max())
    )
