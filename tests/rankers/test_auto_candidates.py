"""What `AutoRanker` tries first, and that its neighbours can be fitted."""

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from rankloop.data import synthetic
from rankloop.rankers.auto.candidates import BACKENDS, first_candidates, neighbours
from rankloop.rankers.auto.view import View

FIRST = [one for one in first_candidates(BACKENDS, View((0,)), View()) if one.kind == "trees"]


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=40, docs_per_query=10, n_features=4, seed=0)


@pytest.mark.parametrize("first", FIRST, ids=lambda one: f"{one.name}, {one.view.name}")
def test_first_candidates_and_their_neighbours_can_be_fitted(data, first):
    for candidate in (first, *islice(neighbours([first], [View()], seed=0), 2)):
        ranker = candidate.ranker(threads=1, seed=0, metric="ndcg@10").set_params(trees=2)
        assert ranker.fit(candidate.view.data(data)).n_trees_ == 2


def test_trees_with_random_thresholds_are_a_family_of_their_own():
    random = next(one for one in FIRST if "with random thresholds" in one.name)
    plain = replace(random, params={**random.params, "params": {}})
    assert plain.family != random.family
    assert plain.group == random.group


def test_catboost_is_never_without_regularisation():
    """Its own objectives were better with its own defaults of it on every development set but one."""
    first = next(one for one in FIRST if one.params["backend"] == "catboost")
    for candidate in (first, *islice(neighbours([first], [View()], seed=0), 20)):
        assert candidate.params["l2"] >= 1
        assert candidate.params["params"]["random_strength"] == 1


def test_linear_models_and_linear_leaves_are_tried_on_logarithms():
    firsts = first_candidates(BACKENDS, View((0,)), View(missing=(1,)), View(columns=(0, 1)))
    logs = [one for one in firsts if one.view.logs]
    assert {one.kind for one in logs} == {"linear", "trees"}
    assert all("linear leaves" in one.name for one in logs if one.kind == "trees")
    assert {one.view for one in logs} == {View(missing=(1,), logs=True), View(columns=(0, 1), logs=True)}


def test_a_view_of_logarithms():
    X = np.array([[0.0, -1.0, np.nan], [np.e - 1, 9.0, 2.0]], np.float32)
    offsets = np.array([0, 2])
    seen = View(missing=(2,), columns=(0, 1), logs=True).of(X, offsets)
    np.testing.assert_allclose(seen, [[0, -np.log(2), 1], [1, np.log(10), 0]], rtol=1e-6)
    assert np.isnan(View(logs=True).of(X, offsets)[0, 2])
    for view in (View(), View(logs=True), View((0,), (1,), (0, 1), True)):
        assert View.from_dict(json.loads(json.dumps(view.to_dict()))) == view
    assert View(logs=True).name == "features + logs"
    assert X[1, 1] == 9  # as it was
