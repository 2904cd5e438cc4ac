"""Perplexity counts the pages that have a rank, and has no limit on ranks."""

import numpy as np
import pytest

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset


def test_by_hand():
    log = ClickLog([1, 1, 2], ["q"] * 3, ["a", "b", "a"], [1, 2, 1], [1, 0, 0])
    found = clicks.RankCTR(rate=[0.5, 0.25]).perplexity(log)
    np.testing.assert_allclose(found.per_rank, [2.0, 4 / 3])
    assert found.overall == pytest.approx((2 * 2 * 4 / 3) ** (1 / 3))


def test_short_pages_do_not_look_better_than_they_are():
    """Dividing rank 3 by all pages instead of those that have it gives 2^(0.1)."""
    pages = [1] * 9 + [3]
    session = np.repeat(np.arange(10), pages)
    position = np.concatenate([np.arange(1, n + 1) for n in pages])
    log = ClickLog(session, np.zeros(len(session)), position, position, np.zeros(len(session), int))
    found = clicks.GlobalCTR(rate=0.5).perplexity(log)
    np.testing.assert_allclose(found.per_rank, [2.0, 2.0, 2.0])


@pytest.mark.parametrize("name", ["pbm", "dbn", "ubm", "dcm"])
def test_pages_longer_than_ten(name):
    n, k = 50, 25
    rng = np.random.default_rng(0)
    log = ClickLog(
        np.repeat(np.arange(n), k),
        np.zeros(n * k),
        np.tile(np.arange(k), n),
        np.tile(np.arange(1, k + 1), n),
        rng.integers(0, 2, n * k),
    )
    found = clicks.model(name)(iterations=5).fit(log).perplexity(log)
    assert found.per_rank.shape == (k,)
    assert np.all(np.isfinite(found.per_rank))


def test_a_rank_nobody_saw_is_nan():
    log = ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 3], [1, 0])
    assert np.isnan(clicks.GlobalCTR(rate=0.5).perplexity(log).per_rank).tolist() == [False, True, False]


def test_a_certain_mistake_is_infinite():
    log = ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 2], [1, 1])
    model = clicks.Cascade(attraction=0.5)
    data = RankingDataset([[0.0], [0.0]], [0, 0], ["q", "q"], docid=["a", "b"])
    assert model.log_likelihood(log, data)[0] == -np.inf
    assert model.perplexity(log, data, given_clicks=True).overall == np.inf
    assert model.perplexity(log, data).overall == pytest.approx((2 * 4) ** 0.5)
