"""Fusion of score arrays against loops, and of rankers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rankloop.data import synthetic
from rankloop.lists import mean_ranks
from rankloop.metrics import metric
from rankloop.rankers import AdaRank, CoordinateAscent, Fusion, PointwiseRanker, RankSVM
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.fuse import comb_mnz, comb_sum, fused_scores, rrf
from strategies import ragged_lists

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)


@given(ragged_lists())
def test_ranks_equal_loops(lists):
    scores, labels, offsets = lists
    scores = np.where(labels == 4, np.nan, scores)
    found = mean_ranks(scores, offsets)
    for start, stop in pairwise(offsets):
        part = scores[start:stop]
        for i, score in enumerate(part):
            if np.isnan(score):
                assert np.isnan(found[start + i])
            else:
                above, level = np.sum(part > score), np.sum(part == score)
                assert found[start + i] == above + (1 + level) / 2


@given(ragged_lists())
@pytest.mark.parametrize("how", ["minmax", "sum", "zscore"])
def test_norms_equal_loops(how, lists):
    scores, labels, offsets = lists
    scores = np.where(labels == 4, np.nan, scores)
    found = normalised(scores, offsets, how)
    for start, stop in pairwise(offsets):
        part, given = found[start:stop], scores[start:stop]
        known = given[~np.isnan(given)]
        np.testing.assert_array_equal(np.isnan(part), np.isnan(given))
        part = part[~np.isnan(part)]
        if len(set(known)) > 1:
            expected = {
                "minmax": (known - known.min()) / (known.max() - known.min()),
                "sum": (known - known.min()) / (known - known.min()).sum(),
                "zscore": (known - known.mean()) / known.std(),
            }[how]
            np.testing.assert_allclose(part, expected, atol=1e-12)
        elif len(known):
            np.testing.assert_allclose(part, 1 / len(known) if how == "sum" else 0.0)


def test_by_hand():
    runs, offsets = [[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3]
    np.testing.assert_allclose(rrf(runs, offsets), [2 / 61, 1 / 62, 1 / 63 + 1 / 62])
    np.testing.assert_allclose(rrf(runs, offsets, constant=0, weights=[1, 2]), [3, 1 / 2, 1 / 3 + 1])
    np.testing.assert_allclose(comb_sum(runs, offsets), [2, 0.5, 0])
    np.testing.assert_allclose(comb_mnz(runs, offsets), [4, 0.5, 0])
    np.testing.assert_allclose(comb_mnz(runs, offsets, norm="none"), [24, 2, 18])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rrf([], [0, 1]), "at least one ranker"),
        (lambda: rrf([[1.0, 2.0]], [0, 3]), r"one score per document \(3\), got shape \(2,\)"),
        (lambda: comb_sum([[1.0]], [0, 1], weights=[1, 2]), "one number per ranker"),
        (lambda: comb_sum([[1.0]], [0, 1], norm="max"), "unknown norm 'max'"),
        (lambda: Fusion().fit(DATA), "needs at least one ranker"),
        (lambda: Fusion([RankSVM()], method="borda").fit(DATA), "unknown method 'borda'"),
        (lambda: Fusion([RankSVM()], method="learned", weights=[1.0]).fit(DATA), "finds the weights itself"),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def parts():
    return [RankSVM().fit(DATA), PointwiseRanker(Ridge()).fit(DATA)]


@pytest.mark.parametrize("method", ["rrf", "comb_sum", "comb_mnz"])
def test_a_fusion_of_rankers_is_the_function_of_their_scores(method):
    rankers = parts()
    scores = [ranker.predict(DATA) for ranker in rankers]
    expected = fused_scores(scores, DATA.offsets, method)
    np.testing.assert_array_equal(Fusion(rankers, method=method).predict(DATA), expected)


def test_depth_makes_votes_count():
    rankers = parts()
    deep = Fusion(rankers, method="comb_mnz", depth=3).predict(DATA)
    assert np.sum(deep == 0) > DATA.n_documents / 3


def test_learned_weights_do_not_trust_a_part_that_overfits_its_training_set():
    """A full tree is perfect on its training queries and poor elsewhere; stacking over folds sees that."""
    train, test = synthetic(n_queries=80, docs_per_query=8, n_features=4, seed=1).split(0.5, seed=0)
    tree = PointwiseRanker(DecisionTreeRegressor(random_state=0))
    fusion = Fusion([RankSVM(), tree], method="learned", folds=4).fit(train)
    assert fusion.learner_.coef_[0] > fusion.learner_.coef_[1]
    naive = Fusion([RankSVM().fit(train), tree.fit(train)], method="learned", prefit=True).fit(train)

    def quality(ranker):
        return np.nanmean(metric("ndcg@5")(ranker.predict(test), test.y, test.offsets))

    assert quality(fusion) > quality(naive)


def test_any_ranker_can_be_the_learner(tmp_path):
    from rankloop.rankers import load

    fusion = Fusion([RankSVM(), RankSVM(C=0.01)], method="learned", learner=AdaRank(), folds=3).fit(
        DATA, DATA
    )
    assert isinstance(fusion.learner_, AdaRank)
    fusion.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(DATA), fusion.predict(DATA))
    assert isinstance(Fusion([RankSVM()], method="learned").fit(DATA).learner_, CoordinateAscent)
