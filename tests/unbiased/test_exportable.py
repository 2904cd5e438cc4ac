"""`learn(exportable=True)`: what a search engine computes with the result are the ranker's scores."""

import importlib.util
import json

import numpy as np
import pytest

from rankers.test_engine_exports import (
    elasticsearch_score,
    opensearch_score,
    ranklib_score,
    solr_score,
    vespa_score,
)
from rankloop.clicks import simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import (
    LambdaMART,
    load,
    to_elasticsearch,
    to_onnx,
    to_opensearch,
    to_ranklib,
    to_solr,
    to_vespa,
)
from rankloop.unbiased import candidates, learn
from rankloop.unbiased.estimation.for_engines import for_engines

FORMATS = {
    "opensearch": (to_opensearch, opensearch_score),
    "elasticsearch": (to_elasticsearch, elasticsearch_score),
    "solr": (to_solr, solr_score),
    "vespa": (to_vespa, vespa_score),
    "ranklib": (to_ranklib, ranklib_score),
}
NAMES = ["title_bm25", "price", "bm25(body)"]  # as the evaluators of OpenSearch know them
RANKERS = candidates(trees=12, threads=1)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    made = synthetic(n_queries=60, docs_per_query=8, n_features=3, seed=0)
    X = made.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return made.replace(X=X, feature_names=NAMES)


@pytest.fixture(scope="module")
def log(data):
    order = np.nan_to_num(data.X[:, 0])
    return simulate(data, logging_policy=order, sessions=4000, k=5, seed=0)


@pytest.fixture(scope="module", params=["quick", "usual", "large"])
def found(request, data, log):
    return learn(log, data, rankers=RANKERS, exportable=True, budget=request.param)


@pytest.mark.filterwarnings("ignore:.*thresholds cannot be written exactly")
@pytest.mark.parametrize("target", FORMATS)
def test_every_engine_gives_its_scores(found, data, target):
    """Also for missing features, without complete=True."""
    write, score = FORMATS[target]
    text = write(found.ranker)
    X = data.X[:60]
    assert np.isnan(X).any()
    expected = found.ranker.predict(X)
    assert np.ptp(expected) > 0
    assert [float(score(text, row)) for row in X] == pytest.approx(expected.tolist(), rel=1e-4, abs=1e-5)


def test_lightgbm_and_onnx_give_its_scores(found, data, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    expected = found.ranker.predict(data)
    booster = lightgbm.Booster(model_str=str(found.ranker.forest_.text))
    np.testing.assert_allclose(booster.predict(data.X), expected, rtol=1e-12)
    if importlib.util.find_spec("onnxruntime") is None:
        return
    import onnxruntime

    to_onnx(found.ranker, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    (scores,) = session.run(None, {session.get_inputs()[0].name: data.X})
    np.testing.assert_allclose(np.ravel(scores), expected, rtol=1e-4, atol=1e-5)


def test_it_takes_the_place_of_what_was_found(found, data):
    assert isinstance(found.ranker, LambdaMART)
    assert np.corrcoef(found.ranker.predict(data), data.y)[0, 1] > 0.3
    assert found.ranker.propensity_ == pytest.approx(found.curve)
    json.dumps(found.to_dict())


def test_it_follows_what_was_found(data, log):
    """Closely, where features are complete: only trees with more leaves could follow a line exactly."""
    whole = data.replace(X=np.nan_to_num(data.X))
    options = {"rankers": candidates(trees=60, threads=1), "networks": False}
    one = learn(log, whole, **options)
    other = learn(log, whole, exportable=True, **options)
    assert np.corrcoef(one.ranker.predict(whole), other.ranker.predict(whole))[0, 1] > 0.99
    assert one.weights == other.weights
    assert one.selection == other.selection
    assert not any("for search engines follows" in note for note in other.warnings)
    _, (note,) = for_engines(one.ranker, whole, LambdaMART(trees=1, threads=1), 0)
    assert "follows what was found with a correlation of 0." in note


def test_what_no_engine_holds_is_refused(data, log):
    page = log.select(np.flatnonzero(np.add.reduceat(log.click, log.offsets[:-1]) == 1)[:1])
    with pytest.raises(ValueError, match="too few to tell documents apart, so there is no model"):
        learn(page, data, rankers=RANKERS, exportable=True)
    old = LambdaMART(trees=3, threads=1).fit(data)
    with pytest.raises(ValueError, match="leave logged or exportable out"):
        learn(log, data, rankers=RANKERS, logged=old, exportable=True)


def test_an_export_of_other_results_says_so(data, log, tmp_path):
    found = learn(log, data, rankers=RANKERS, networks=False)
    found.ranker.save(tmp_path / "model.rank")
    with pytest.raises(ValueError, match=r"linear leaves.*learn from clicks with exportable=True"):
        to_solr(load(tmp_path / "model.rank"))
