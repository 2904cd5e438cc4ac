"""`rankloop learn` from files to a model."""

import json

import numpy as np
import pytest

from commands import app_of, running
from rankloop.cli.export import export as export_command
from rankloop.cli.learn import learn
from rankloop.clicks import simulate, write_clicks
from rankloop.data import open_dataset, synthetic, write_svmlight
from rankloop.propensity import Propensity
from rankloop.rankers import load

APP = app_of(learn)
run = running(APP)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn")
    write_svmlight(synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0), folder / "data.txt")
    data = open_dataset(folder / "data.txt")
    write_clicks(
        simulate(data, logging_policy=data.X[:, 0], sessions=4000, k=5, seed=0), folder / "log.parquet"
    )
    Propensity.given(1 / np.arange(1, 6)).save(folder / "curve.json")
    return folder


def test_the_ranker_is_saved_and_the_report_printed(files):
    printed = run(files / "data.txt", files / "log.parquet", "--out", files / "m", "--trees", 10)
    assert "examination by rank" in printed
    assert "dcg@10 on held-out queries" in printed
    data = open_dataset(files / "data.txt")
    assert load(files / "m").predict(data).shape == (data.n_documents,)


@pytest.mark.parametrize("curve", ["curve.json", "1,0.5,0.3333333333333333,0.25,0.2"])
def test_a_curve_may_be_given(files, curve):
    given = files / curve if curve.endswith("json") else curve
    printed = run(files / "data.txt", files / "log.parquet", "--propensity", given, "--trees", 5, "--json")
    found = json.loads(printed)
    assert found["curve"] == pytest.approx((1 / np.arange(1, 6)).tolist())
    assert found["curve_by"] == "the caller"
    assert found["selection"]["best"] in ("new", "shown")


def test_a_large_budget(files, monkeypatch):
    monkeypatch.setattr("rankloop.unbiased.estimation.voters.EACH", 1)
    monkeypatch.setattr("rankloop.unbiased.estimation.voters.FOLDS", 2)
    monkeypatch.setattr("rankloop.unbiased.estimation.voters.STEPS", 100)
    arguments = (files / "data.txt", files / "log.parquet", "--trees", 2, "--budget", "large")
    found = json.loads(run(*arguments, "--out", files / "l", "--json"))
    assert found["features"]
    data = open_dataset(files / "data.txt")
    assert load(files / "l").predict(data).shape == (data.n_documents,)
    assert (
        json.loads(run(*arguments, "--backend", "local", "--workers", 1, "--json"))["features"]
        == found["features"]
    )


def test_what_was_learned_can_go_into_an_engine(files):
    arguments = (files / "data.txt", files / "log.parquet", "--trees", 5)
    run(*arguments, "--exportable", "--out", files / "e")
    export = running(app_of(export_command))
    export(files / "e", "--to", "ranklib", "--out", files / "e.txt")
    assert (files / "e.txt").read_text().startswith("## LambdaMART")
    on_counts = json.loads(run(*arguments, "--exportable", "--backend", "local", "--workers", 1, "--json"))
    assert on_counts["weights"]


def test_mistakes_are_explained(files):
    with pytest.raises(ValueError, match="or numbers above 0"):
        run(files / "data.txt", files / "log.parquet", "--propensity", "steep")
    with pytest.raises(ValueError, match="a data set needs its click log"):
        run(files / "data.txt")
