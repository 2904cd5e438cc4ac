"""Models for Solr, scored by Solr's own classes; skipped where Java or the jars of Solr are missing."""

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from rankloop.data import synthetic
from rankloop.rankers import LambdaMART, LinearRanker, NeuralRanker, to_solr
from rankloop.rankers.export.model_text import model_text
from rankloop.rankers.trees.compile_forest import read_trees

JARS = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "rankloop"
    / "engines"
    / "solr-8.11.4"
    / "lib"
)
pytestmark = pytest.mark.skipif(
    shutil.which("java") is None or not (JARS / "solr-ltr-8.11.4.jar").exists(),
    reason=f"needs Java and the jars of Solr 8.11.4 in {JARS}",
)


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    """The program, compiled once."""
    folder = tmp_path_factory.mktemp("java")
    source = Path(__file__).with_name("SolrScores.java")
    if shutil.which("javac"):
        subprocess.run(["javac", "-cp", f"{JARS}/*", "-d", folder, source], check=True, capture_output=True)
        return ["java", "-cp", f"{JARS}/*:{folder}", "SolrScores"]
    return ["java", "-cp", f"{JARS}/*", str(source)]


def scored(java, path, rows):
    text = "".join(" ".join(repr(float(value)) for value in row) + "\n" for row in rows)
    done = subprocess.run([*java, str(path)], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.array(done.stdout.split(), np.float64)


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost", "catboost"])
def test_forests_at_their_thresholds(java, backend, tmp_path):
    data = synthetic(n_queries=30, docs_per_query=12, n_features=5, seed=0)
    ranker = LambdaMART(trees=12, leaves=8, threads=1, backend=backend).fit(data)
    with warnings.catch_warnings():  # LightGBM's "below 0" cannot be met to the last bit
        warnings.simplefilter("ignore" if backend == "lightgbm" else "error")
        to_solr(ranker, tmp_path / "m.json", complete=True)
    near = read_trees(model_text(ranker)).threshold.astype(np.float32)
    steps = [near, *(np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf))]
    values = np.unique(np.concatenate(steps))
    rows = np.repeat(values[(np.abs(values) > 1e-30) | (values == 0), None], 5, axis=1)
    rows = np.concatenate((rows, np.random.default_rng(0).permuted(rows, axis=0), data.X))
    np.testing.assert_allclose(
        scored(java, tmp_path / "m.json", rows), ranker.predict(rows), rtol=2e-6, atol=2e-6
    )


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_sums_and_networks(java, kind, tmp_path):
    data = synthetic(n_queries=20, docs_per_query=8, n_features=5, seed=1)
    if kind == "linear":
        ranker = LinearRanker().fit(data)
    else:
        pytest.importorskip("torch")
        ranker = NeuralRanker(hidden=(6, 4), epochs=2, feature_transform="standard", seed=0).fit(data)
    to_solr(ranker, tmp_path / "m.json", complete=True)
    np.testing.assert_allclose(
        scored(java, tmp_path / "m.json", data.X), ranker.predict(data), rtol=1e-4, atol=1e-4
    )
