"""The kernels of dual learning and pair debiasing against loops, and their slopes against differences."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.propensity.dual_learning import inverse_relevance, softmax_loss
from rankloop.propensity.pair_debias import pair_loss

RANKS = 5


@st.composite
def clicked_pages(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    lengths = rng.integers(1, RANKS + 1, draw(st.integers(1, 5)))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    n = int(offsets[-1])
    document = rng.integers(0, 6, n).astype(np.int64)
    rank = np.concatenate([np.arange(one) for one in lengths]).astype(np.int64)
    click = rng.integers(0, 2, n).astype(np.int8)
    weight = rng.exponential(size=len(lengths))
    return offsets, document, rank, click, weight, rng.normal(size=6), rng.uniform(0.3, 2, (2, RANKS))


def pages_of(offsets):
    return [range(a, b) for a, b in itertools.pairwise(offsets)]


@given(clicked_pages())
def test_softmax_loss(drawn):
    offsets, document, rank, click, weight, scores, ratios = drawn
    per_rank = ratios[0]

    def naive(s):
        total = 0.0
        for p, rows in enumerate(pages_of(offsets)):
            share = sum(np.exp(s[document[i]]) for i in rows)
            for i in rows:
                if click[i]:
                    total -= weight[p] * per_rank[rank[i]] * np.log(np.exp(s[document[i]]) / share)
        return total

    slope = np.zeros(6)
    value = softmax_loss(offsets, document, rank, click, weight, scores, per_rank, slope)
    assert value == pytest.approx(naive(scores))
    for d in range(6):
        step = np.eye(6)[d] * 1e-5
        numeric = (naive(scores + step) - naive(scores - step)) / 2e-5
        assert slope[d] == pytest.approx(numeric, abs=1e-6)


@given(clicked_pages(), st.sampled_from([1.5, 100.0]))
def test_inverse_relevance(drawn, clip):
    offsets, document, rank, click, weight, scores, _ = drawn
    slow = np.zeros((2, RANKS))
    for p, rows in enumerate(pages_of(offsets)):
        first = rows[0]
        for i in rows:
            slow[0, rank[i]] += (
                weight[p] * click[i] * min(np.exp(scores[document[first]] - scores[document[i]]), clip)
            )
            slow[1, rank[i]] += weight[p] * click[first]
    fast = np.zeros((2, RANKS))
    inverse_relevance(offsets, document, rank, click, weight, scores, clip, fast)
    np.testing.assert_allclose(fast, slow, atol=1e-12)


@given(clicked_pages())
def test_pair_loss(drawn):
    offsets, document, rank, click, weight, scores, ratios = drawn

    def naive(s):
        table = np.zeros((RANKS, RANKS, RANKS))
        for p, rows in enumerate(pages_of(offsets)):
            for i in rows:
                for j in rows:
                    if click[i] and not click[j]:
                        loss = np.log(1 + np.exp(-(s[document[i]] - s[document[j]])))
                        table[len(rows) - 1, rank[i], rank[j]] += weight[p] * loss
        return table

    table, slope = np.zeros((RANKS, RANKS, RANKS)), np.zeros(6)
    pair_loss(offsets, document, rank, click, weight, scores, ratios, slope, table)
    np.testing.assert_allclose(table, naive(scores), atol=1e-12)
    divided = ratios[0][None, :, None] * ratios[1][None, None, :]
    for d in range(6):
        step = np.eye(6)[d] * 1e-5
        numeric = np.sum((naive(scores + step) - naive(scores - step)) / divided) / 2e-5
        assert slope[d] == pytest.approx(numeric, abs=1e-6)


def test_a_right_pair_costs_less_than_a_wrong_one():
    """The cost is log(1 + exp(-difference)), not of the opposite sign."""
    table = np.zeros((2, 2, 2))
    arguments = np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), np.array([1, 0], np.int8), np.ones(1)
    pair_loss(*arguments, np.array([3.0, 0.0]), np.ones((2, 2)), np.zeros(2), table)
    assert table[1, 0, 1] == pytest.approx(np.log1p(np.exp(-3)))
