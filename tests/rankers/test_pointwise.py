"""Regressors and classifiers as rankers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsRegressor

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import PointwiseRanker
from rankloop.rankers.base.scale import scaled_per_query

DATA = synthetic(n_queries=20, docs_per_query=8, n_features=3, seed=0).replace(feature_names=None)


def test_a_regressor_sees_rows_and_weights():
    weight = np.linspace(0.1, 2.0, DATA.n_documents)
    per_query = np.linspace(1.0, 3.0, DATA.n_queries)
    data = DATA.replace(item_weight=weight, query_weight=per_query)
    both = data.item_weight.astype(float) * data.query_weight[data.row_query]
    expected = Ridge().fit(DATA.X, DATA.y, sample_weight=both).predict(DATA.X)
    np.testing.assert_allclose(PointwiseRanker(Ridge()).fit(data).predict(data), expected, rtol=1e-5)


def test_a_classifier_gives_the_expected_label():
    ranker = PointwiseRanker(LogisticRegression()).fit(DATA)
    peer = LogisticRegression().fit(DATA.X, DATA.y.astype(int))
    expected = peer.predict_proba(DATA.X) @ peer.classes_
    np.testing.assert_allclose(ranker.predict(DATA), expected, rtol=1e-6)


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_scaling_within_queries_equals_loops(how):
    X = DATA.X.copy()
    X[::7, 1] = np.nan
    X[:, 2] = 4.0
    scaled = scaled_per_query(X, DATA.offsets, how)
    for start, stop in zip(DATA.offsets[:-1], DATA.offsets[1:], strict=True):
        for feature in range(2):
            column = X[start:stop, feature].astype(float)
            known = column[~np.isnan(column)]
            if len(set(known)) < 2:
                continue
            if how == "standard":
                expected = (column - known.mean()) / known.std()
            else:
                expected = (column - known.min()) / (known.max() - known.min())
            np.testing.assert_allclose(scaled[start:stop, feature], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(scaled[:, 2], 0.0)


def test_scaling_makes_a_shift_between_queries_harmless():
    rng = np.random.default_rng(0)
    X, shift = rng.normal(size=(160, 1)), np.repeat(rng.normal(size=20) * 100, 8)
    data = RankingDataset.from_groups(X + shift[:, None], (X[:, 0] > 0.5).astype(int), [8] * 20)
    scores = PointwiseRanker(Ridge(), scale="standard").fit(data).predict(data)
    within = [
        np.corrcoef(scores[start : start + 8], X[start : start + 8, 0])[0, 1] for start in range(0, 160, 8)
    ]
    assert min(within) > 0.99


@pytest.mark.parametrize(
    ("ranker", "data", "message"),
    [
        (PointwiseRanker(RidgeClassifier()), DATA, "gives no probabilities"),
        (PointwiseRanker(LogisticRegression()), DATA.replace(y=DATA.y / 2), "labels that are whole numbers"),
        (PointwiseRanker(scale="max"), DATA, "unknown scale 'max'"),
        (
            PointwiseRanker(KNeighborsRegressor()),
            DATA.replace(query_weight=np.ones(20)),
            "KNeighborsRegressor would ignore the query_weight",
        ),
    ],
)
def test_wrong_use(ranker, data, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit(data)
