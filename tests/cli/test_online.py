"""`rankloop simulate --online` draws learning curves."""

import json

import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.data import synthetic


@pytest.fixture
def sets(tmp_path):
    data = synthetic(n_queries=60, docs_per_query=15, n_features=8, seed=0)
    for name, part in zip(("train", "test"), data.split(0.7, seed=0), strict=True):
        part.save(tmp_path / name)
    return [str(tmp_path / "train"), "--test", str(tmp_path / "test")]


def test_a_curve_rises(sets):
    done = CliRunner().invoke(
        app, ["simulate", *sets, "--online", "pdgd", "--user", "perfect", "-n", "500", "--json"]
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["pages"][-1] == 500
    assert told["offline"][-1] > told["offline"][0]
    assert told["below_floor"] is None  # nothing was shown before, so there is no floor


def test_the_table_tells_the_floor(sets):
    done = CliRunner().invoke(app, ["simulate", *sets, "--online", "mgd", "--by", "1", "-n", "50"])
    assert done.exit_code == 0, done.output
    assert "below 90% of the shown ranking" in done.output


def test_mistakes_are_named(sets):
    wrong = CliRunner().invoke(app, ["simulate", *sets, "--online", "pdg", "-n", "10"])
    assert "did you mean 'pdgd'" in str(wrong.exception)
    floor = CliRunner().invoke(app, ["simulate", *sets, "--online", "pdgd", "--floor", "3", "-n", "10"])
    assert "floor is a share" in str(floor.exception)
    without = CliRunner().invoke(app, ["simulate", sets[0], "--online", "pdgd", "-n", "10"])
    assert "give --test FILE" in str(without.exception)
