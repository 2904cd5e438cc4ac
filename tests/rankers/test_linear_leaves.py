"""Forests with linear leaves: LightGBM's bits, and Shapley values by enumeration."""

from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import synthetic
from rankloop.rankers import LambdaMART, contributions, why
from rankloop.rankers.explain.linear_shapley import shares_of_lines
from rankloop.rankers.trees.compile_forest import read_trees
from rankloop.rankers.trees.linear_leaves import LinearForest


def grown(seed, *, features=4, missing=0.1, category=False, trees=8, leaves=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, features))
    X[rng.random(X.shape) < missing] = np.nan
    if category:
        X[:, -1] = rng.integers(5, size=len(X))
    filled = np.nan_to_num(X)
    y = filled[:, 0] * filled[:, 1] + 2 * np.abs(filled[:, 2]) + (filled[:, -1] == 3)
    told_to = {
        "verbose": -1, "linear_tree": True, "linear_lambda": 0.1, "num_leaves": leaves, "min_data_in_leaf": 5,
        "num_threads": 1, "learning_rate": 0.5,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, categorical_feature=[features - 1] if category else [])
    booster = lightgbm.train(told_to, data, trees)
    return booster, X


def by_enumeration(score, x, z):
    """The formula of `contributions`, over all sets of features."""
    d = len(x)
    shares = np.zeros(d)
    for f in range(d):
        rest = [i for i in range(d) if i != f]
        for size in range(d):
            for chosen in combinations(rest, size):
                without = z.copy()
                without[list(chosen)] = x[list(chosen)]
                having = without.copy()
                having[f] = x[f]
                gain = np.diff(score(np.array([without, having])))[0]
                shares[f] += factorial(size) * factorial(d - size - 1) / factorial(d) * gain
    return shares


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), category=st.booleans())
def test_scores_are_lightgbms_to_the_last_bit(seed, category):
    booster, X = grown(seed, category=category)
    forest = LinearForest.of(read_trees(booster.model_to_string()))
    assert (np.diff(forest.terms) > 0).any()
    rows = np.vstack((X, np.random.default_rng(seed).normal(size=(200, X.shape[1])) * 3))
    expected = booster.predict(rows)
    for count in (1, 4, 5, 64, 65, len(rows)):
        assert (forest.score(rows[:count], threads=2) == expected[:count]).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), category=st.booleans())
def test_shares_are_those_of_all_sets_of_features(seed, category):
    booster, X = grown(seed, missing=0.3, category=category)
    forest = LinearForest.of(read_trees(booster.model_to_string()))
    found = shares_of_lines(forest, X[0], X[1:4])
    for other, shares in zip(X[1:4], found, strict=True):
        assert shares == pytest.approx(by_enumeration(forest.score, X[0], other), abs=1e-9)
        gap = np.diff(forest.score(np.array([other, X[0]])))[0]
        assert shares.sum() == pytest.approx(gap, abs=1e-9)


def test_a_ranker_with_linear_leaves_is_explained():
    data = synthetic(n_queries=40, docs_per_query=10, n_features=6, seed=0)
    ranker = LambdaMART(trees=10, leaves=7, params={"linear_tree": True}, threads=1).fit(data)
    whole = contributions(ranker, data, rows=[3, 5], samples=400)
    assert whole.exact
    assert whole.base + whole.values.sum(axis=1) == pytest.approx(ranker.predict(data)[[3, 5]])
    drawn = contributions(ranker, data, rows=[3, 5], samples=100)
    assert not drawn.exact
    assert drawn.base + drawn.values.sum(axis=1) == pytest.approx(ranker.predict(data)[[3, 5]])
    assert (np.abs(drawn.values - whole.values) < 4 * drawn.error + 1e-9).all()
    found = why(ranker, data, data.qid[0])
    assert found.share.sum() == pytest.approx(found.scores[0] - found.scores[1])


def test_trees_without_a_split_score_their_constant():
    X = np.random.default_rng(0).normal(size=(50, 2))
    booster = lightgbm.train({"verbose": -1, "linear_tree": True}, lightgbm.Dataset(X, np.ones(50)), 2)
    text = booster.model_to_string()
    assert "is_linear=1" in text
    assert (LinearForest.of(read_trees(text)).score(X) == booster.predict(X)).all()


def test_damaged_children_are_refused():
    text = grown(0)[0].model_to_string()
    at = text.index("left_child=")
    damaged = text[:at] + "left_child=0" + text[at + text[at:].index(" ") :]
    with pytest.raises(ValueError, match="damaged"):
        LinearForest.of(read_trees(damaged))
