"""`rankloop simulate` and `rankloop clicks` from file to file."""

import json
import warnings

import numpy as np
import pytest

import rankloop.clicks as family
from commands import app_of, running
from rankloop.cli.clicks import clicks
from rankloop.cli.simulate import simulate
from rankloop.data import synthetic, write_svmlight
from rankloop.propensity import TrustWarning

APP = app_of(simulate)
APP.add_typer(clicks)
run = running(APP)


@pytest.fixture
def letor(tmp_path):
    data = synthetic(n_queries=20, docs_per_query=8, n_features=5, seed=0)
    write_svmlight(data, tmp_path / "data.txt")
    np.savetxt(tmp_path / "scores.txt", data.y)
    return tmp_path


def test_from_a_data_set_to_a_model(letor):
    printed = run(
        "simulate", letor / "data.txt", "--logging-policy", letor / "scores.txt", "-n", 3000, "--randomize",
        "swap", "--user", "navigational", "-k", 5, "--out", letor / "log.parquet", "--json",
    )  # fmt: skip
    assert json.loads(printed)["pages"] == 3000
    report = json.loads(run("clicks", "check", letor / "log.parquet", "--json"))
    by_name = {one["estimator"]: one["support"] for one in report["estimators"]}
    assert by_name["swap_intervention"] != "no"
    assert "swap_intervention" in run("clicks", "check", letor / "log.parquet")
    fitted = json.loads(
        run("clicks", "fit", letor / "log.parquet", "--model", "dbn", "--out", letor / "dbn.model", "--json")
    )
    assert fitted["models"][0]["perplexity"] < 2
    assert isinstance(family.load_model(letor / "dbn.model"), family.DBN)
    again = run(
        "simulate", letor / "data.txt", "--by", 1, "--user", letor / "dbn.model", "--out", letor / "x.csv"
    )
    assert "written to" in again
    table = run("clicks", "fit", letor / "log.parquet", "--iterations", 5)
    assert len(table.strip().splitlines()) == len(family.models())  # all but the contextual, and the title
    explained = run(
        "clicks", "fit", letor / "log.parquet", "--features", letor / "data.txt", "--iterations", 5
    )
    assert "rankctr" not in explained


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "data.txt", "--out", "log.csv"], "what ranks the documents"),
        (["simulate", "data.txt", "--by", "99", "--out", "log.csv"], "there is no feature '99'"),
        (["simulate", "data.txt", "--by", "1", "--out", "log.xyz", "-n", "5"], "is not known by its ending"),
        (["clicks", "fit", "log.csv", "--out", "x.model"], "--out saves one model"),
        (["clicks", "check", "none.csv"], "there is no file"),
    ],
)
def test_mistakes(letor, monkeypatch, arguments, message):
    monkeypatch.chdir(letor)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run(*arguments)


def test_a_warning_of_trust_is_printed_once(letor):
    log = letor / "trust.parquet"
    asked = ("--by", 1, "--user", "trust", "-n", 40_000, "--randomize", "swap", "-k", 4, "--out", log)
    run("simulate", letor / "data.txt", *asked)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        printed = run("clicks", "propensity", log)
    assert printed.count("trust high ranks") == 1
    assert [one for one in seen if one.category is TrustWarning] == []
    with pytest.warns(TrustWarning):
        run("clicks", "propensity", log, "--json")
