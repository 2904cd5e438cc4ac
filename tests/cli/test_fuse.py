"""`rankloop fuse` writes what `rankloop.fuse` gives, and refuses what cannot be fused."""

import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli import app


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "a.run").write_text("q 0 x 1 3.0 a\nq 0 y 2 2.0 a\nq 0 z 3 1.0 a\n")
    (tmp_path / "b.run").write_text("q 0 x 1 0.9 b\nq 0 z 2 0.8 b\n")
    return tmp_path


def test_the_run_is_that_of_the_library(runs):
    target = runs / "fused.run"
    done = CliRunner().invoke(app, ["fuse", str(runs / "a.run"), str(runs / "b.run"), "-o", str(target)])
    assert done.output == f"wrote {target}: 1 queries, 3 documents\n"
    found = rl.read_run(target)
    expected = rl.fuse([rl.read_run(runs / "a.run"), rl.read_run(runs / "b.run")])
    assert found.docid.tolist() == expected.docid.tolist() == ["x", "z", "y"]
    assert found.scores == pytest.approx([1 / 61 + 1 / 61, 1 / 63 + 1 / 62, 1 / 62])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "two runs or more, got 1"),
        (["b.run", "--weights", "1,x"], "--weights are numbers"),
        (["b.run", "--weights", "1"], "weight"),
        (["b.run", "--method", "rff"], "did you mean 'rrf'"),
    ],
)
def test_mistakes_are_explained(runs, monkeypatch, more, message):
    monkeypatch.chdir(runs)
    with pytest.raises(ValueError, match=message):
        CliRunner().invoke(app, ["fuse", "a.run", *more, "-o", "out.run"], catch_exceptions=False)
    assert not (runs / "out.run").exists()
