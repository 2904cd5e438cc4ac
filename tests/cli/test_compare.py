import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rankloop.cli import app, main

QUERIES = [f"q{i}" for i in range(8)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """`new` puts the one relevant document first in every query but the last; `base` never does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n" for q in QUERIES))
    (tmp_path / "base.run").write_text("".join(f"{q} Q0 b 1 2 x\n{q} Q0 a 2 1 x\n" for q in QUERIES))
    swapped = {q: ("a", "b") if q != "q7" else ("b", "a") for q in QUERIES}
    lines = "".join(f"{q} Q0 {x} 1 2 y\n{q} Q0 {y} 2 1 y\n" for q, (x, y) in swapped.items())
    (tmp_path / "new.run").write_text(lines)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, ["compare", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_by_hand(files):
    found = json.loads(run("base.run", "new.run", "--qrels", "qrels.txt", "-m", "mrr", "--json"))
    verdict = found["verdicts"]["mrr"]["new"]
    assert verdict["difference"] == pytest.approx(7 / 16)
    assert verdict["p_value"] == 4 / 256  # of 2^8 swaps only two of the seven halves (q7 is the same)
    assert (verdict["wins"], verdict["losses"], verdict["ties"]) == (7, 0, 1)
    assert found["baseline"] == "base"


def test_json_is_stable(files):
    found = json.loads(run("base.run", "new.run", "--data", "qrels.txt", "--json"))
    assert list(found) == [
        "rankings", "judgments", "baseline", "test", "seed", "confidence",
        "systems", "verdicts", "most_changed",
    ]  # fmt: skip
    assert list(found["verdicts"]) == ["ndcg@10", "map", "mrr"]


def test_table(files):
    shown = run("base.run", "new.run", "-j", "qrels.txt", "-m", "mrr", "--test", "t")
    assert "+0.4375" in shown
    assert "7/0/1" in shown
    assert "baseline: base, p by paired t-test" in shown
    assert "most changed by mrr with new: q0 +0.500" in shown


def test_tables_for_papers(files):
    assert "| new | **0.9375†** |" in run(
        "base.run", "new.run", "--qrels", "qrels.txt", "-m", "mrr", "--format", "markdown"
    )
    assert r"\begin{tabular}{lr}" in run(
        "base.run", "new.run", "--qrels", "qrels.txt", "-m", "mrr", "--format", "latex"
    )


def test_scores_of_a_data_set(files):
    (files / "letor.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n0 qid:2 1:2\n")
    (files / "worse.txt").write_text("1\n2\n1\n2\n")
    (files / "better.txt").write_text("2\n1\n1\n2\n")
    found = json.loads(run("worse.txt", "better.txt", "--data", "letor.txt", "-m", "mrr", "--json"))
    assert found["verdicts"]["mrr"]["better"]["difference"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("rankings", "metric", "limit", "code", "said"),
    [
        (["new.run", "base.run"], "mrr", "0.4", 1, "base loses more than 0.4: mrr changes by -0.4375 ["),
        (["new.run", "base.run"], "mrr", "0.5", 0, ""),
        (["base.run", "new.run"], "mrr", "0", 0, ""),
        (["new.run", "base.run"], "inversions", "0.4", 1, "inversions changes by +0.8750 ["),
        (["base.run", "new.run"], "inversions", "0.4", 0, ""),
        (["base.run", "new.run"], "p(rel=2)@5", "0.4", 2, "no query has a value of p(rel=2)@5"),
    ],
)
def test_a_loss_beyond_the_limit_fails(files, rankings, metric, limit, code, said):
    arguments = ["compare", *rankings, "--qrels", "qrels.txt", "-m", metric, "--max-loss", limit]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    assert said in done.stderr


def test_names_tell_files_apart(files):
    (files / "old").mkdir()
    (files / "old" / "new.run").write_text((files / "base.run").read_text())
    found = json.loads(run("old/new.run", "new.run", "--qrels", "qrels.txt", "-m", "mrr", "--json"))
    assert list(found["systems"]) == ["old/new.run", "new.run"]


def test_per_query(files):
    run("base.run", "new.run", "--qrels", "qrels.txt", "-m", "mrr", "--per-query", "v.csv")
    assert (files / "v.csv").read_text().splitlines()[:2] == ["system,qid,mrr", "base,q0,0.5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["base.run"], "compare needs at least two systems, got 1: base"),
        (["base.run", "base.run"], "a file is named twice"),
        (["base.run", "qrels.txt"], "not a ranking"),
        (["base.run", "new.run", "--test", "wilcox"], "unknown test 'wilcox'"),
        (["base.run", "new.run", "--format", "word"], "unknown format 'word'"),
        (["base.run", "new.run", "--max-loss", "-1"], "at least 0, got -1"),
        (["base.run", "new.run", "--max-loss", "nan"], "at least 0, got nan"),
        (["base.run", "new.run", "--service", "shop.toml"], "--service is for --queries"),
    ],
)
def test_mistakes_end_in_one_sentence(files, monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["rankloop", "compare", *arguments, "--qrels", "qrels.txt"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_as_a_process(files):
    command = [
        sys.executable,
        "-c",
        "from rankloop.cli import main; main()",
        "compare",
        "base.run",
        "new.run",
    ]
    done = subprocess.run([*command, "--qrels", "qrels.txt"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "wins/losses/ties" in done.stdout
    failed = subprocess.run([*command, "--qrels", "gone"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stderr == "rankloop: there is no file gone\n"
