"""Weighted sums of rankers, fitted here or before."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from rankloop.data import synthetic
from rankloop.rankers import Ensemble, PointwiseRanker, RankSVM
from rankloop.rankers.base.per_list import normalised

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)


def parts():
    return [RankSVM().fit(DATA), PointwiseRanker(Ridge()).fit(DATA)]


def test_an_ensemble_is_a_weighted_sum():
    rankers = parts()
    scores = [normalised(ranker.predict(DATA), DATA.offsets, "zscore") for ranker in rankers]
    found = Ensemble(rankers, weights=[2.0, -0.5]).predict(DATA)
    np.testing.assert_allclose(found, 2 * scores[0] - 0.5 * scores[1])


def test_fitting_fits_copies_and_prefit_does_not():
    rankers = parts()
    before = rankers[0].coef_.copy()
    other = DATA.select(np.arange(10))
    refitted = Ensemble(rankers).fit(other)
    assert not np.array_equal(refitted.rankers_[0].coef_, before)
    np.testing.assert_array_equal(rankers[0].coef_, before)
    assert Ensemble(rankers, prefit=True).fit(other).rankers_[0] is rankers[0]
    with pytest.raises(ValueError, match="trained on 4 and 3 features"):
        Ensemble([rankers[0], RankSVM().fit(DATA.replace(X=DATA.X[:, :3]))]).predict(DATA)


def test_wrong_weights():
    with pytest.raises(ValueError, match=r"one finite number per ranker \(1\), got"):
        Ensemble([RankSVM()], weights=[1.0, 2.0]).fit(DATA)
    with pytest.raises(ValueError, match="needs at least one ranker"):
        Ensemble().fit(DATA)
