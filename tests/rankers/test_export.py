"""ONNX models give the scores of the ranker, to single precision."""

import numpy as np
import pytest

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import LambdaMART, LinearRanker, NeuralRanker, RankBoost, RankSVM, to_onnx
from rankloop.rankers.trees.compile_forest import read_trees
from rankloop.rankers.trees.trees import CATEGORY

onnxruntime = pytest.importorskip("onnxruntime")


def lists(missing=0.1):
    data = synthetic(n_queries=30, docs_per_query=12, n_features=5, seed=0)
    X = data.X.copy()
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    return data.replace(X=X)


def scores_of(whole, X):
    session = onnxruntime.InferenceSession(whole)
    (score,) = session.run(None, {"X": X})
    return score


@pytest.mark.parametrize(
    "ranker",
    [
        RankSVM(),
        LinearRanker(loss="ranknet"),
        LambdaMART(trees=20, leaves=8, threads=1),
        LambdaMART(trees=20, leaves=8, threads=1, backend="xgboost"),
        LambdaMART(trees=20, leaves=8, threads=1, backend="catboost"),
        LambdaMART(trees=20, leaves=8, threads=1, backend="rankloop"),
        LambdaMART(trees=5, leaves=8, threads=1, params={"use_missing": False}),
    ],
    ids=lambda ranker: f"{type(ranker).__name__}-{ranker.get_params().get('backend', '')}",
)
def test_the_same_scores(ranker, tmp_path):
    data = lists()
    ranker.fit(data)
    whole = to_onnx(ranker, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == whole
    np.testing.assert_allclose(scores_of(whole, data.X), ranker.predict(data), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"scorer": "gam"}, {"missing": "flag"}, {"feature_transform": None}], ids=str
)
def test_the_same_scores_of_networks(options):
    pytest.importorskip("torch")
    data = lists()
    ranker = NeuralRanker(hidden=(8,), epochs=2, seed=0, **options).fit(data)
    before = ranker.predict(data)
    np.testing.assert_allclose(scores_of(to_onnx(ranker), data.X), before, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(ranker.predict(data), before)


def test_values_on_a_threshold_go_the_same_way():
    """Thresholds are no float32 numbers; the nearest ones on both sides are."""
    data = lists(missing=0.0)
    ranker = LambdaMART(trees=10, leaves=8, threads=1).fit(data)

    trees = read_trees(ranker.forest_.text)
    near = np.float32(trees.threshold)
    for x in (near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))):
        X = np.repeat(x[:, None], 5, axis=1)
        np.testing.assert_allclose(scores_of(to_onnx(ranker), X), ranker.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("many", [3, 90])
def test_categories_travel_along(backend, many):
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.integers(0, many, 900), rng.normal(size=(900, 2)))).astype(np.float32)
    X[::11, 0] = np.nan
    y = (np.sin(np.nan_to_num(X[:, 0]) * 5) + X[:, 1] > 0.3).astype(np.float32)
    data = RankingDataset(X, y, np.arange(900) // 30)
    loose = {"min_data_per_group": 1, "cat_smooth": 1.0} if backend == "lightgbm" else {}
    ranker = LambdaMART(
        backend=backend, trees=20, leaves=8, threads=1, categorical=[0], loss="squared", params=loose
    ).fit(data)
    assert (read_trees(ranker.forest_.text).rule & CATEGORY).any()
    rows = np.concatenate((X, [[many + 5.0, 0.0, 0.0], [np.nan, np.nan, np.nan]])).astype(np.float32)
    (score,) = onnxruntime.InferenceSession(to_onnx(ranker)).run(None, {"X": rows})
    np.testing.assert_allclose(score, ranker.predict(rows), rtol=1e-5, atol=1e-5)


def test_names_of_the_features_travel_along():
    onnx = pytest.importorskip("onnx")
    data = lists().replace(feature_names=["a", "b", "c", "d", "e"])
    model = onnx.load_from_string(to_onnx(RankSVM().fit(data)))
    assert {entry.key: entry.value for entry in model.metadata_props} == {"features": "a\nb\nc\nd\ne"}


def test_what_onnx_cannot_say():
    data = lists(missing=0.0)
    with pytest.raises(ValueError, match="RankBoost has no ONNX form"):
        to_onnx(RankBoost(iterations=3).fit(data))
    with pytest.raises(ValueError, match="'attention' scores whole lists"):
        to_onnx(NeuralRanker(scorer="attention", hidden=(8, 8), epochs=1).fit(data))
    with pytest.raises(ValueError, match="train with feature_transform='log1p'"):
        to_onnx(NeuralRanker(feature_transform="quantile", hidden=(8,), epochs=1).fit(data))
    zeros = LambdaMART(trees=3, leaves=4, threads=1, params={"zero_as_missing": True}).fit(data)
    with pytest.raises(ValueError, match="cannot treat zeros as missing"):
        to_onnx(zeros)
