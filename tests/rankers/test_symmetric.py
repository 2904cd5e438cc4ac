"""The backend rankloop: symmetric trees equal a plain search, and LightGBM reads them as they score here."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import synthetic
from rankloop.metrics import evaluate
from rankloop.rankers import LambdaMART, load
from rankloop.rankers.trees.feature_bins import FeatureBins
from rankloop.rankers.trees.symmetric_tree import Growing

TRAIN, VALID = synthetic(n_queries=60, docs_per_query=12, n_features=6, seed=0).split(0.7, seed=0)


def small(**options):
    return LambdaMART(**{"backend": "rankloop", "trees": 15, "leaves": 8, "threads": 1, **options})


def growing(X, depth, **options):
    data = FeatureBins.of(X, 255, 0)
    given = {"rate": 1.0, "l2": 0.5, "least": 0.0, "share": 1.0, "threads": 1} | options
    return Growing(data, data.bins(X), depth, rng=np.random.default_rng(0), **given)


def naive_gain(sides, gradient, hessian, l2, least):
    """The sum over all leaves of G² / (H + l2); `sides` has a column of 0 and 1 for each level."""
    total = 0.0
    for leaf in np.unique(sides, axis=0):
        inside = (sides == leaf).all(axis=1)
        g, h = gradient[inside].sum(), hessian[inside].sum()
        total += g * g / (h + l2) if h >= max(least, 1e-12) else 0.0
    return total


def best_gain(X, sides, gradient, hessian, l2, least):
    """The largest sum over all leaves that one more level reaches, by trying every split of every feature."""
    best = 0.0
    for column in X.T:
        known = column[~np.isnan(column)]
        for cut in [*np.unique(known), np.inf]:
            for left in (False, True) if np.isnan(column).any() else (False,):
                right = np.where(np.isnan(column), not left, column > cut)
                best = max(best, naive_gain(np.column_stack((sides, right)), gradient, hessian, l2, least))
    return best


@st.composite
def problems(draw):
    rows, columns = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(1, 8)), (rows, columns)).astype(np.float32)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.3] = np.nan
    gradient = rng.normal(size=rows).astype(np.float32)
    hessian = rng.exponential(size=rows).astype(np.float32)
    hessian[rng.random(rows) < 0.2] = 0.0
    return X, gradient, hessian


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(1, 3), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([0.0, 0.5]))
def test_every_level_is_the_best_of_a_plain_search(problem, depth, l2, least):
    X, gradient, hessian = problem
    grown = growing(X, depth, l2=l2, least=least)
    tree, leaf = grown.tree(gradient, hessian)
    found = [level.gain for level in tree.levels]
    total = naive_gain(np.empty((len(X), 0)), gradient, hessian, l2, least)
    bits = leaf.astype(np.int64)[:, None] >> np.arange(len(found))[::-1] & 1
    for level in range(depth):
        best = best_gain(X, bits[:, :level], gradient, hessian, l2, least)
        if level == len(found):  # it ended here: no split is better than none
            assert best <= total + 1e-5 * max(total, 1.0)
            break
        total += found[level]
        here = naive_gain(bits[:, : level + 1], gradient, hessian, l2, least)
        assert math.isclose(best, total, rel_tol=1e-5, abs_tol=1e-5)
        assert math.isclose(here, total, rel_tol=1e-5, abs_tol=1e-5)
    for number in np.unique(leaf):
        inside = leaf == number
        g, h = gradient[inside].sum(dtype=np.float64), hessian[inside].sum(dtype=np.float64)
        expected = -g / (h + l2) if h >= max(least, 1e-12) else 0.0
        assert math.isclose(tree.value[number], expected, rel_tol=1e-5, abs_tol=1e-7)
    np.testing.assert_array_equal(tree.leaves(grown.bins, grown.data), leaf)


def test_two_levels_by_hand():
    """Four documents with gradients -3, -1, 1, 3 and Hessians of 1: 2 * 16 / 2, then 9 + 1 + 1 + 9."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    gradient, hessian = np.array([-3.0, -1.0, 1.0, 3.0], np.float32), np.ones(4, np.float32)
    tree, leaf = growing(X, 2, l2=0.0).tree(gradient, hessian)
    assert [(level.feature, level.threshold) for level in tree.levels] == [(0, 0.5), (1, 0.5)]
    np.testing.assert_allclose([level.gain for level in tree.levels], [16.0, 4.0])
    np.testing.assert_allclose(tree.value, [3.0, 1.0, -1.0, -3.0])
    assert leaf.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("leaves", [2, 32, 256])
def test_lightgbm_reads_the_text_as_it_scores_here(gaps, leaves, tmp_path):
    """Missing values that training saw and others, values beyond all edges, nodes that divide nothing."""
    rng = np.random.default_rng(leaves)
    X = TRAIN.X.copy()
    X[:, 0] = np.round(X[:, 0])
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    ranker = small(leaves=leaves, trees=30).fit(TRAIN.replace(X=X), VALID)
    others = np.concatenate([X, 3 * rng.normal(size=(200, 6)), np.full((1, 6), np.nan), np.zeros((1, 6))])
    others = np.concatenate([others, np.full((1, 6), 3e38), np.full((1, 6), -3e38)]).astype(np.float32)
    scores = ranker.predict(others)
    np.testing.assert_allclose(ranker.forest_.booster.predict(others), scores, rtol=1e-12)
    parts = ranker.forest_.booster.predict(others, pred_contrib=True)
    np.testing.assert_allclose(parts.sum(axis=1), scores, atol=1e-9)
    assert np.isfinite(parts).all()
    ranker.save(tmp_path / "model.rank")
    again = load(tmp_path / "model.rank")
    assert again.backend == "rankloop"
    np.testing.assert_array_equal(again.predict(others), scores)
    assert (ranker.feature_importances_ >= 0).all()


def test_the_curve_is_that_of_the_forest():
    """What the trees score while they grow is what the forest scores afterwards, rounds cut off included."""
    ranker = small(trees=80, patience=10).fit(TRAIN, VALID)
    assert ranker.n_trees_ == ranker.curve_.argmax() + 1 < len(ranker.curve_)
    value = evaluate(ranker, VALID, ["ndcg@10"]).mean["ndcg@10"]
    assert math.isclose(value, ranker.curve_.max(), abs_tol=1e-12)


def test_trees_are_added_to_a_forest():
    first = small(trees=10).fit(TRAIN)
    both = small(trees=10, init=first).fit(TRAIN)
    whole = small(trees=20).fit(TRAIN)
    assert both.n_trees_ == 20
    np.testing.assert_allclose(both.predict(TRAIN), whole.predict(TRAIN), rtol=1e-6, atol=1e-9)
    other = LambdaMART(trees=3, threads=1).fit(TRAIN)
    with pytest.raises(ValueError, match="take the same backend"):
        small(init=other).fit(TRAIN)
    with pytest.raises(ValueError, match="take the same backend"):
        LambdaMART(trees=3, threads=1, init=first).fit(TRAIN)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("rankloop.rankers.trees.symmetric_tree._MANY", 1)
    one, two = (small(threads=threads).fit(TRAIN).forest_.text for threads in (1, 2))
    assert one == two


def test_features_are_drawn_for_each_level():
    ranker = small(feature_fraction=0.34, trees=60).fit(TRAIN)
    assert (ranker.feature_importances_ > 0).all()
    again = small(feature_fraction=0.34, trees=60).fit(TRAIN)
    other = small(feature_fraction=0.34, trees=60, seed=1).fit(TRAIN)
    assert ranker.forest_.text == again.forest_.text != other.forest_.text


@pytest.mark.parametrize("values", [3, 255, 5_000])
def test_bins_hold_about_as_many_documents_each(values):
    X = np.random.default_rng(0).permutation(np.arange(20_000) % values)[:, None].astype(np.float32)
    data = FeatureBins.of(X, 255, 0)
    count = np.bincount(data.bins(X)[0])
    assert len(count) == min(values, 255)
    assert count.max() <= 2 * 20_000 / len(count)
    for edge, cut in enumerate(data.edges[0]):
        np.testing.assert_array_equal(data.bins(X)[0] <= edge, X[:, 0] <= cut)


def test_extreme_values_have_edges_between_them():
    X = np.array([[-np.inf], [-3e38], [0], [1e-45], [3e38], [np.inf]], np.float32)
    data = FeatureBins.of(X, 255, 0)
    assert data.bins(X)[0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "backend:lambdarank"}, "no objectives of its own"),
        ({"params": {"max_depth": 3}}, "takes no params; leave params out"),
        ({"monotone": {0: 1}}, "takes no monotone"),
        ({"interaction": [[0, 1]]}, "takes no interaction"),
        ({"categorical": [0]}, "takes no categorical"),
    ],
)
def test_what_it_cannot_do_is_refused(options, message):
    codes = TRAIN.replace(X=np.abs(np.round(TRAIN.X)))
    with pytest.raises(ValueError, match=message):
        small(**options).fit(codes)


def test_features_without_two_values_are_refused():
    with pytest.raises(ValueError, match="no feature tells the"):
        small().fit(TRAIN.replace(X=np.ones_like(TRAIN.X)))


def test_a_forest_without_a_split_warns():
    with pytest.warns(UserWarning, match="lower min_sum_hessian"):
        ranker = small(min_sum_hessian=1e9, trees=3).fit(TRAIN)
    assert np.ptp(ranker.predict(VALID)) == 0
    assert np.ptp(ranker.forest_.booster.predict(VALID.X)) == 0
