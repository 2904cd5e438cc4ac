"""Which round of boosting is kept, beside a plain search over all rounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import synthetic
from rankloop.rankers import LambdaMART
from rankloop.rankers.trees.best_round import BestRound


def naive_smoothed(values):
    """The first round whose neighbours, those that are known, have the highest mean."""
    best, kept = -np.inf, 0
    for number in range(1, len(values) + 1):
        around = values[number - number // 2 - 1 : number + number // 2]
        if np.mean(around) > best + 1e-12:
            best, kept = np.mean(around), number
    return kept


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60))
def test_after_every_round_it_is_the_one_that_a_plain_search_finds(values):
    best, smoothed = BestRound(smoothed=False), BestRound(smoothed=True)
    for number, value in enumerate(values, 1):
        best.add(value)
        smoothed.add(value)
        assert best.number == np.argmax(values[:number]) + 1
        assert smoothed.number == naive_smoothed(values[:number])


@pytest.mark.parametrize(("first", "kept"), [(1, 3), (6, 1)])
def test_by_hand(first, kept):
    """Round 3 has a mean of 5 with its neighbours 2 and 4; round 1 counts by itself alone."""
    found = BestRound(smoothed=True)
    for value in (first, 3, 4, 8, 0, 0, 0, 0):
        found.add(value)
    assert found.number == kept


def test_more_rounds_than_were_foreseen():
    values = np.random.default_rng(0).integers(0, 100, 2500)
    found = BestRound(smoothed=True)
    for value in values:
        found.add(value)
    assert found.number == naive_smoothed(values)


@pytest.mark.parametrize("backend", ["lightgbm", "rankloop", "xgboost", "catboost"])
def test_every_library_keeps_the_trees_of_that_round(backend):
    train, valid = synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=0).split(0.7, seed=0)
    ranker = LambdaMART(trees=60, leaves=7, patience=20, stopping="smoothed", backend=backend, threads=1)
    ranker.fit(train, valid)
    assert ranker.n_trees_ == naive_smoothed(ranker.curve_)
    assert len(ranker.curve_) <= max(60, ranker.n_trees_ + 20)


def test_mistakes_are_named():
    data = synthetic(n_queries=20, docs_per_query=5, n_features=3, seed=0)
    with pytest.raises(ValueError, match="stopping"):
        LambdaMART(trees=2, stopping="last", threads=1).fit(data)
