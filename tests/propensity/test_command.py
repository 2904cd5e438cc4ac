"""`rankloop clicks propensity` from file to file."""

import json

import pytest

from commands import running
from rankloop.cli.clicks import clicks
from rankloop.clicks import simulate, write_clicks
from rankloop.data import synthetic, write_svmlight
from rankloop.propensity import Propensity

run = running(clicks)


@pytest.fixture
def files(tmp_path):
    data = synthetic(n_queries=50, docs_per_query=6, n_features=4, seed=0)
    write_svmlight(data, tmp_path / "data.txt")
    log = simulate(data, logging_policy=data.y, sessions=5000, k=4, randomize="swap", seed=0)
    write_clicks(log, tmp_path / "log.parquet")
    write_clicks(
        simulate(data, logging_policy=data.y, sessions=5000, k=4, seed=0), tmp_path / "plain.parquet"
    )
    return tmp_path


def test_a_curve(files):
    printed = json.loads(run("propensity", files / "log.parquet", "--out", files / "curve.json", "--json"))
    assert printed["method"] == "swap_intervention"
    assert printed["values"] == Propensity.load(files / "curve.json").values.tolist()
    assert "swap_intervention" in run("propensity", files / "log.parquet", "--depth", 3, "--monotone")


def test_a_joint_fit_says_that_it_is_not_to_be_trusted(files):
    printed = run("propensity", files / "plain.parquet", "--features", files / "data.txt")
    assert "regression_em" in printed
    assert "warning: no document connects these groups of ranks" in printed


def test_the_report(files):
    assert "swap ranks 1 and 2 on" in run("propensity", files / "plain.parquet", "--identifiability")
    assert (
        json.loads(run("propensity", files / "plain.parquet", "--identifiability", "--json"))["trusted"]
        is False
    )
