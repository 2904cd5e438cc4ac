"""`rankloop online` draws learning curves."""

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
    done = CliRunner().invoke(app, ["online", *sets, "--user", "perfect", "-n", "500", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["pages"][-1] == 500
    assert found["offline"][-1] > found["offline"][0]
    assert found["below_floor"] is None  # nothing was shown before, so there is no floor


def test_the_table_has_the_floor(sets):
    done = CliRunner().invoke(app, ["online", *sets, "--learner", "mgd", "--by", "1", "-n", "50"])
    assert done.exit_code == 0, done.output
    assert "below 90% of production's ndcg@10" in done.output


def test_mistakes_are_named(sets):
    wrong = CliRunner().invoke(app, ["online", *sets, "--learner", "pdg", "-n", "10"])
    assert "did you mean 'pdgd'" in str(wrong.exception)
    floor = CliRunner().invoke(app, ["online", *sets, "--floor", "3", "-n", "10"])
    assert "floor is a share" in str(floor.exception)
    without = CliRunner().invoke(app, ["online", sets[0], "-n", "10"])
    assert "Missing option" in without.output
    both = CliRunner().invoke(app, ["online", *sets, "--by", "1", "--production", "scores.txt"])
    assert "either --production FILE or --by FEATURE" in str(both.exception)
    drawn = CliRunner().invoke(app, ["online", *sets, "--out", "curve.png"])
    assert ".svg or .html" in str(drawn.exception)


def test_a_version_of_a_service_learns_while_it_serves(tmp_path):
    from serve.running import another, make_index, serving

    queries = ("running shoes", "red hat", "shoes", "hat")
    make_index(tmp_path)
    with serving(tmp_path, examples=queries) as service:
        other = another(service)
    config = tmp_path / "shop.toml"
    config.write_text(f'index = "shop.index"\nexamples = {json.dumps(queries)}\n')
    given = ["online", str(config), "--above", "v1"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "v3 learns while it serves, above v1" in done.output
    arms = ["--learner", "thompson", "--arm", "v1", "--arm", other, "--json"]
    made = json.loads(CliRunner().invoke(app, [*given, *arms]).output)
    assert made["version"] == "v4"
    assert made["online"]["arms"] == ["v1", other]
    for wrong in (["--learner", "mgd"], ["--keep", "3"], ["--learner", "thompson"], ["--arm", "v1"]):
        refused = CliRunner().invoke(app, [*given, *wrong])
        assert refused.exit_code != 0, wrong
    unknown = CliRunner().invoke(app, ["online", str(config), "--above", "v9"])
    assert unknown.exit_code != 0
    with serving(tmp_path) as service:
        assert [one.version for one in service.registry.versions()] == ["v1", other, "v3", "v4"]
