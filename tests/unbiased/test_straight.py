"""Linear scores by the likelihood of clicks, and the same scores as trees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from rankloop.clicks import World
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.one_forest import one_forest
from rankloop.unbiased.estimation.straight import FAR, Straight, added, straight

THETA = np.array([1.0, 0.6, 0.4, 0.3])
WEIGHTS = np.array([0.8, -0.5, 0.0])


def clicked(seed, chance, impressions=3000):
    """400 lists of four, each document at one rank; clicks are drawn by `chance(rank, score)`."""
    rng = np.random.default_rng(seed)
    X = (3.0 + 2.0 * rng.normal(size=(1600, 3))).astype(np.float32)
    data = RankingDataset.from_groups(X, np.zeros(1600), np.full(400, 4))
    position = np.concatenate([rng.permutation(4) for _ in range(400)]).astype(np.int32) + 1
    score = ((X - 3.0) / 2.0) @ WEIGHTS
    n = np.full(1600, float(impressions))
    clicks = rng.binomial(impressions, chance(position - 1, score)).astype(np.float64)
    return Evidence(
        data,
        np.arange(1600),
        position,
        n,
        clicks,
        THETA[position - 1],
        np.zeros(1600),
        np.full(400, float(impressions)),
    )


def slopes(found):
    return found.weights / found.spread


@pytest.mark.parametrize("towers", [False, True])
def test_the_weights_are_found(towers):
    def chance(k, s):
        return expit(s + np.log(THETA)[k] - 0.5) if towers else THETA[k] * expit(s - 0.5)

    seen = clicked(0, chance)
    found = straight(seen, np.ones(1600, bool), towers=towers)
    np.testing.assert_allclose(slopes(found), WEIGHTS / 2.0, atol=0.005)
    np.testing.assert_allclose(found.mean, 3.0, atol=0.2)


def test_clicks_from_trust_are_taken_into_account():
    seen = clicked(1, lambda k, s: THETA[k] * (0.3 + 0.7 * expit(s)))
    known = replace(seen, alpha=0.7 * seen.alpha, beta=0.3 * seen.alpha)
    np.testing.assert_allclose(slopes(straight(known, np.ones(1600, bool))), WEIGHTS / 2.0, atol=0.005)
    assert abs(slopes(straight(seen, np.ones(1600, bool)))[0] - WEIGHTS[0] / 2.0) > 0.05


def test_few_clicks_shrink_the_weights():
    few = clicked(2, lambda k, s: THETA[k] * expit(s - 0.5), impressions=1)
    many = clicked(2, lambda k, s: THETA[k] * expit(s - 0.5), impressions=1000)
    kept = np.arange(1600) < 40
    assert np.abs(straight(few, kept).weights).sum() < 0.8 * np.abs(straight(many, kept).weights).sum()


def test_constant_and_missing_features_have_no_say():
    seen = clicked(3, lambda k, s: THETA[k] * expit(s))
    X = seen.data.X.copy()
    X[:, 2] = 7.0
    X[::5, 0] = np.nan
    found = straight(replace(seen, data=seen.data.replace(X=X)), np.ones(1600, bool))
    assert np.isfinite(found.weights).all()
    rows = np.array([[np.nan, 3.0, 7.0], [np.nan, 3.0, 900.0], [np.nan, np.nan, np.nan]])
    one, two, none = found.predict(rows)
    assert one == two
    assert none == 0.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-50, 50) | st.just(float("nan")), min_size=2, max_size=2), st.integers(0, 99))
def test_trees_have_the_same_scores(row, seed):
    """Beside LightGBM's own scores, far outside the range of the features and for missing ones too."""
    rng = np.random.default_rng(seed)
    line = Straight(rng.normal(size=2), rng.uniform(0.1, 3.0, 2), rng.normal(size=2))
    X = rng.normal(size=(40, 2)).astype(np.float32)
    head = LambdaMART(trees=1, leaves=2, threads=1).fit(
        RankingDataset.from_groups(X, np.tile([0, 1], 20), [20, 20])
    )
    found = one_forest([head], np.zeros(1), line)
    rows = np.array([row, *X[:5]], np.float32)
    slow = [
        sum(
            0.0 if np.isnan(x) else w * min(max((float(x) - m) / s, -FAR), FAR)
            for x, m, s, w in zip(one, line.mean, line.spread, line.weights, strict=True)
        )
        for one in rows
    ]
    np.testing.assert_allclose(line.predict(rows), slow, atol=1e-9)
    np.testing.assert_allclose(found.predict(rows), slow, atol=1e-9)
    np.testing.assert_allclose(found.forest_.booster.predict(rows), slow, atol=1e-9)


def test_a_sum_of_lines_is_a_line():
    seen = clicked(4, lambda k, s: THETA[k] * expit(s))
    parts = [straight(seen, np.ones(1600, bool), towers=one) for one in (False, True)]
    both = added(parts, [2.0, -0.5])
    X = seen.data.X[:50]
    np.testing.assert_allclose(both.predict(X), 2.0 * parts[0].predict(X) - 0.5 * parts[1].predict(X))


def test_a_world_that_is_linear_has_linear_corrections():
    from rankloop.unbiased import candidates, learn

    drawn = World(utility="linear", queries=150, sessions=3000, loggers=(0.5,), seed=2).draw()
    hidden = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    found = learn(drawn.log, hidden, rankers=candidates(trees=10, threads=1))
    assert sum(share for name, share in found.weights.items() if name.startswith("linear")) > 0.3
