"""`rankloop datasets`."""

import json

import pytest
from typer.testing import CliRunner

from rankloop.cli.datasets import datasets


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments):
        done = CliRunner().invoke(datasets, arguments, catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout

    return call


def test_list(run):
    rows = json.loads(run("list", "--json"))
    assert {"name", "licence", "origin", "checksums", "folder"} <= set(rows[0])
    assert all(row["folder"] is None for row in rows)
    assert "cranfield" in run("list")


def test_show(run):
    row = json.loads(run("show", "cranfield", "--json"))
    assert row["licence"] == "freely distributed"
    assert "not known" in run("show", "mslr-web10k")
    with pytest.raises(ValueError, match="did you mean 'cranfield'"):
        run("show", "cranfeld")


def test_get(run, tmp_path):
    folder = tmp_path / "data" / "MQ2007"
    folder.mkdir(parents=True)
    assert json.loads(run("get", "mq2007", "--json")) == {"name": "mq2007", "folder": str(folder)}
    assert run("get", "mq2007").strip() == str(folder)
    with pytest.raises(ValueError, match="cannot be downloaded automatically"):
        run("get", "yahoo-ltrc")
