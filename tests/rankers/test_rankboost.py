"""RankBoost against its definition pair by pair."""

import numpy as np
import pytest
from hypothesis import given

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import RankBoost
from rankloop.rankers.base.thresholds import Thresholds
from rankloop.rankers.rankboost import _PairWeights
from strategies import ragged_lists


def naive_net(scores, data):
    """The weight of each pair, its share of all, added to the better and taken from the other document."""
    net, total = np.zeros(len(scores)), 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if data.row_query[i] == data.row_query[j] and data.y[i] > data.y[j]:
                weight = float(data.item_weight[i]) * float(data.query_weight[data.row_query[i]])
                weight *= np.exp(scores[j] - scores[i])
                net[i] += weight
                net[j] -= weight
                total += weight
    return net / total if total else None


@given(ragged_lists())
def test_net_weights_equal_loops(lists):
    scores, labels, offsets = lists
    rng = np.random.default_rng(len(scores))
    lengths = np.diff(offsets)
    data = RankingDataset.from_groups(
        np.zeros((len(scores), 1)),
        labels,
        lengths,
        item_weight=rng.uniform(0.1, 2, len(scores)),
        query_weight=rng.uniform(0.1, 2, len(lengths)),
    )
    found, expected = _PairWeights(data).net(scores), naive_net(scores, data)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_best_step_equals_a_search_over_all():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(40, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.normal(size=40)
    weight -= weight.mean()
    best = 0.0
    for column in X.T:
        for threshold in column[~np.isnan(column)]:
            for missing in (False, True):
                best = max(best, abs(weight @ np.where(np.isnan(column), missing, column > threshold)))
    feature, threshold, missing, r = Thresholds.of(X, 255).best(weight)
    column = X[:, feature]
    assert r == pytest.approx(weight @ np.where(np.isnan(column), missing, column > threshold))
    assert abs(r) == pytest.approx(best)


def test_few_thresholds_are_quantiles():
    X = np.arange(100, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(Thresholds.of(X, 3).cuts[0], [24, 49, 74])


def test_the_exponential_loss_falls_every_round():
    data = synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)
    losses = []
    for iterations in (1, 2, 5, 20, 60):
        scores = RankBoost(iterations=iterations).fit(data).predict(data)
        better, worse = np.nonzero(
            (data.row_query[:, None] == data.row_query) & (data.y[:, None] > data.y[None, :])
        )
        losses.append(np.exp(scores[worse] - scores[better]).mean())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]


def test_one_round_by_hand():
    """Two lists of one pair each; only feature 1 agrees with both, r = 1, smoothed by one over the pairs."""
    data = RankingDataset([[0, 1], [1, 0], [3, 5], [2, 4]], [1, 0, 1, 0], ["a", "a", "b", "b"])
    ranker = RankBoost(iterations=1).fit(data)
    assert ranker.feature_.tolist() in ([0], [1])
    r = 0.5  # no one threshold parts both pairs, whose values are (1, 0) and (5, 4)
    assert abs(ranker.alpha_[0]) == pytest.approx(0.5 * np.log((1 + r + 0.5) / (1 - r + 0.5)))


def test_the_validation_set_chooses_the_iterations():
    data = synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=1)
    train, valid = data.split(0.3, seed=0)
    stopped = RankBoost(iterations=200, patience=20).fit(train, valid)
    assert 1 <= len(stopped.alpha_) < 200


def test_separable_data_stay_finite():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    data = RankingDataset.from_groups(X, (X[:, 0] > 0).astype(int), [10] * 5)
    assert np.isfinite(RankBoost(iterations=2000).fit(data).predict(data)).all()


def test_wrong_options():
    with pytest.raises(ValueError, match="at least 1"):
        RankBoost(iterations=0).fit(RankingDataset([[1.0], [2.0]], [0, 1], [1, 1]))
