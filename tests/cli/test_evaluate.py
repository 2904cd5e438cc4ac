import json
import math
import os
import subprocess
import sys

import numpy as np
import polars
import pytest
from typer.testing import CliRunner

from rankloop.cli import app, main
from rankloop.data import RankingDataset, write_parquet
from rankloop.data.load_dataset import save_dataset

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 a 0\n"
RUN = "q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 zz 3 1 x\nq4 Q0 a 1 1 x\n"
LETOR = "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.9 2:1\n0 qid:2 1:0.1 2:1\n1 qid:2 1:0.3 2:2\n"
SCORES = "2\n1\n5\n1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels", QRELS), ("run", RUN), ("letor", LETOR), ("scores", SCORES)):
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, ["evaluate", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(monkeypatch, capsys, *arguments):
    """The one sentence that a user's mistake ends in."""
    monkeypatch.setattr(sys, "argv", ["rankloop", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message


def test_a_run_by_hand(files):
    found = json.loads(run("run.txt", "qrels.txt", "-m", "ndcg@10", "-m", "map", "--json"))
    first = 3 / (3 + 1 / math.log2(3))
    assert found["metrics"]["ndcg@10"]["mean"] == pytest.approx(first / 2)  # q2 was not answered
    assert found["metrics"]["map"]["mean"] == pytest.approx(0.25)
    assert found["metrics"]["map"]["left_out"] == 1
    assert found["queries"] == 3


def test_the_table_says_how_it_counted(files):
    shown = run("run.txt", "qrels.txt")
    assert [line.split()[0] for line in shown.splitlines()[1:5]] == ["ndcg@10", "map", "mrr", "err@10"]
    assert "left out" in shown
    assert "ties average" in shown
    assert "empty nan" in shown
    assert "judged queries without a result in the run: 2" in shown
    assert "queries of the run without judgments: 1 (left out)" in shown


def test_json_is_stable(files):
    found = json.loads(run("run.txt", "qrels.txt", "-m", "mrr", "--json"))
    assert list(found) == [
        "ranking", "judgments", "queries", "confidence", "convention", "ties", "empty", "metrics", "notes"
    ]  # fmt: skip
    assert list(found["metrics"]["mrr"]) == ["mean", "low", "high", "queries", "left_out"]
    (files / "blank.txt").write_text("q1 0 a 0\n")
    assert json.loads(run("run.txt", "blank.txt", "-m", "mrr", "--json"))["metrics"]["mrr"]["mean"] is None


def test_every_form_of_a_data_set_and_of_scores(files):
    data = RankingDataset([[0.5], [0.9], [0.1], [0.3]], [2, 0, 0, 1], [1, 1, 2, 2])
    save_dataset(data, files / "saved")
    write_parquet(data, files / "data.parquet")
    np.save(files / "scores.npy", [2.0, 1.0, 5.0, 1.0])
    means = {
        json.loads(run(scores, judgments, "-m", "mrr", "--json"))["metrics"]["mrr"]["mean"]
        for scores in ("scores.txt", "scores.npy")
        for judgments in ("letor.txt", "saved", "data.parquet")
    }
    assert means == {0.75}


def test_a_saved_ranker(files):
    from sklearn.linear_model import LinearRegression

    from rankloop.data import read_svmlight
    from rankloop.rankers import PointwiseRanker

    PointwiseRanker(LinearRegression()).fit(read_svmlight(files / "letor.txt")).save(files / "model")
    assert json.loads(run("model", "letor.txt", "-m", "mrr", "--json"))["metrics"]["mrr"]["mean"] == 1.0


def test_rank_by_a_feature(files):
    assert json.loads(run("letor.txt", "--by", "2", "-m", "mrr", "--json"))["metrics"]["mrr"]["mean"] == 1.0
    assert json.loads(run("letor.txt", "--by", "1", "-m", "mrr", "--json"))["metrics"]["mrr"]["mean"] == 0.75


@pytest.mark.parametrize("name", ["values.csv", "values.json", "values.jsonl", "values.parquet"])
def test_per_query_files(files, name):
    run("run.txt", "qrels.txt", "-m", "mrr", "--per-query", name)
    reader = {"jsonl": "read_ndjson"}.get(name.split(".")[1], f"read_{name.split('.')[1]}")
    frame = getattr(polars, reader)(files / name)
    assert frame["qid"].to_list() == ["q1", "q2", "q3"]
    assert frame["mrr"].to_list() == [1.0, 0.0, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run.txt"], "run.txt needs judgments: rankloop evaluate run.txt JUDGMENTS"),
        (["qrels.txt", "run.txt"], "run.txt is a TREC run"),
        (["run.txt", "letor.txt"], "no docid"),
        (["scores.txt", "qrels.txt"], "need a run to judge"),
        (["gone.txt", "qrels.txt"], "there is no file gone.txt"),
        (["run.txt", "qrels.txt", "-m", "ndgc@10"], "did you mean 'ndcg'?"),
        (["run.txt", "qrels.txt", "--ties", "avrage"], "did you mean 'average'?"),
        (["run.txt", "qrels.txt", "--convention", "trek"], "did you mean 'trec'?"),
        (["run.txt", "qrels.txt", "--per-query", "x.xls"], "must end in .csv, .json, .jsonl, .parquet"),
        (["letor.txt", "--by", "7"], "no feature '7'; name one, or a number from 1 to 2"),
        (["qrels.txt", "--by", "1"], "holds judgments only"),
        (["scores.txt", "letor.txt", "--by", "1"], "leave out the second file"),
    ],
)
def test_mistakes_end_in_one_sentence(files, monkeypatch, capsys, arguments, message):
    printed = refused(monkeypatch, capsys, "evaluate", *arguments)
    assert message in printed
    assert printed.count("\n") == 1


def test_wrong_length(files, monkeypatch, capsys):
    (files / "short.txt").write_text("1\n2\n")
    message = refused(monkeypatch, capsys, "evaluate", "short.txt", "letor.txt")
    assert "one number per row of the data set (4), got shape (2,)" in message


def test_as_a_process(files):
    command = [
        sys.executable,
        "-c",
        "from rankloop.cli import main; main()",
        "evaluate",
        "run.txt",
        "qrels.txt",
    ]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["metrics"]["mrr"]["queries"] == 2


@pytest.mark.parametrize(
    ("name", "given", "used"),
    [
        ("OPENBLAS_THREAD_TIMEOUT", None, "4"),
        ("OPENBLAS_THREAD_TIMEOUT", "20", "20"),
        ("OMP_WAIT_POLICY", None, "PASSIVE"),
        ("OMP_WAIT_POLICY", "ACTIVE", "ACTIVE"),
    ],
)
def test_waiting_threads_do_not_spin_unless_the_user_says_so(files, monkeypatch, capsys, name, given, used):
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "argv", ["rankloop", "evaluate", "run.txt", "qrels.txt"])
    with pytest.raises(SystemExit):
        main()
    assert os.environ[name] == used


def test_evaluating_loads_nothing_slow(files):
    probe = (
        "import sys; sys.argv = ['rankloop', 'evaluate', 'run.txt', 'qrels.txt']\n"
        "from rankloop.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('polars', 'sklearn', 'lightgbm', 'scipy.stats', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
