"""`rankloop train`, `predict` and `tune` on files."""

import json
import tomllib

import numpy as np
import polars
import pytest

from commands import app_of, running
from rankloop.cli.predict import predict
from rankloop.cli.train import train
from rankloop.cli.tune import tune
from rankloop.data import read_svmlight, synthetic, write_svmlight
from rankloop.metrics import evaluate
from rankloop.rankers import RankSVM, load
from rankloop.rankers.saving.load import manifest

app = app_of(train, predict, tune)
run = running(app)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    parts = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).split(0.5, 0.25, 0.25, seed=0)
    for name, part in zip(("train", "valid", "test"), parts, strict=True):
        write_svmlight(part.replace(feature_names=None), folder / f"{name}.txt")
    return folder


def test_a_run_folder_holds_everything(files, tmp_path):
    out = tmp_path / "runs" / "svm"
    shown = run(
        "train", files / "train.txt", "--valid", files / "valid.txt", "--test", files / "test.txt",
        "--ranker", "RankSVM", "--set", "C=0.5", "-m", "ndcg@5", "-m", "map", "--out", out,
    )  # fmt: skip
    assert "ndcg@5" in shown
    assert f"written to {out}" in shown
    names = {"model.rank", "metrics.json", "parameters.json", "run.toml", "data.json", "environment.json"}
    assert {path.name for path in out.iterdir()} == names
    data = read_svmlight(files / "train.txt")
    ranker = load(out / "model.rank")
    np.testing.assert_array_equal(ranker.predict(data), RankSVM(C=0.5).fit(data).predict(data))
    facts = {
        name: json.loads((out / f"{name}.json").read_text()) for name in ("metrics", "data", "environment")
    }
    assert facts["data"]["data"]["fingerprint"] == data.fingerprint() == ranker.fingerprint_
    assert set(facts["metrics"]) == {"valid", "test"}
    assert facts["environment"]["versions"]["numpy"] == np.__version__
    assert manifest(out / "model.rank")["metrics"]["test"]["map"] > 0.5

    again = tmp_path / "again"
    run("train", "--config", out / "run.toml", "--out", again)
    assert (again / "model.rank").read_bytes() == (out / "model.rank").read_bytes()
    found = json.loads(
        run("train", "--config", out / "run.toml", "--set", "C=2", "--out", again, "--overwrite", "--json")
    )
    assert found["metrics"]["valid"]["metrics"]["map"]["mean"] > 0.5
    assert load(again / "model.rank").C == 2


def test_an_automatic_ranker_is_not_judged_by_models_that_saw_the_validation_set(files, tmp_path):
    """It is fitted on the validation queries too: the figure is that of the models without them."""
    out = tmp_path / "auto"
    options = ("fits=2", "members=1", "folds=2", "divisions=1", "threads=1", "backends=['lightgbm']")
    shown = run(
        "train", files / "train.txt", "--valid", files / "valid.txt", "--ranker", "auto", "--minutes", "5",
        *(word for option in options for word in ("--set", option)), "--out", out,
    )  # fmt: skip
    assert "2 models were tried on the validation set" in shown
    valid, ranker = read_svmlight(files / "valid.txt"), load(out / "model.rank")
    (part,) = ranker.parts_
    assert len(part.rankers) == 2
    unseen = evaluate(part.rankers[0].predict(part.view.data(valid)), valid, ["ndcg@10"]).mean["ndcg@10"]
    assert unseen != pytest.approx(evaluate(ranker, valid, ["ndcg@10"]).mean["ndcg@10"], abs=1e-6)
    figures = json.loads((out / "metrics.json").read_text())
    assert figures["valid"]["metrics"]["ndcg@10"]["mean"] == pytest.approx(unseen)
    assert manifest(out / "model.rank")["metrics"]["valid"]["ndcg@10"] == pytest.approx(unseen)


def test_predict_writes_every_form(files, tmp_path):
    data = read_svmlight(files / "test.txt")
    ranker = RankSVM().fit(read_svmlight(files / "train.txt"))
    ranker.save(tmp_path / "model.rank")
    expected = ranker.predict(data)
    for ending in ("txt", "npy", "parquet"):
        run("predict", tmp_path / "model.rank", files / "test.txt", "--out", tmp_path / f"scores.{ending}")
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "scores.txt"), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), expected)
    frame = polars.read_parquet(tmp_path / "scores.parquet")
    np.testing.assert_array_equal(frame["score"].to_numpy(), expected)
    np.testing.assert_array_equal(frame["qid"].to_numpy(), data.row_qid)
    printed = run("predict", tmp_path, files / "test.txt")  # the folder that holds the model
    np.testing.assert_array_equal(np.array(printed.split(), float), expected)


def test_text_that_leaves_out_the_last_feature_still_fits(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:1 1:1 2:5\n0 qid:1 1:0 2:3\n")
    (tmp_path / "test.txt").write_text("0 qid:7 1:1\n0 qid:7 1:0\n")
    run("train", tmp_path / "train.txt", "--ranker", "ranksvm", "--out", tmp_path / "run")
    assert len(run("predict", tmp_path / "run", tmp_path / "test.txt").split()) == 2


def test_tuning_ends_in_a_configuration_for_training(files, tmp_path):
    (tmp_path / "tune.toml").write_text(
        f"data = '{files / 'train.txt'}'\nmetrics = ['ndcg@5']\n"
        "[ranker]\nname = 'ranksvm'\n[space]\nC = {low = 0.01, high = 1.0, log = true}\n"
    )
    shown = run(
        "tune", "--config", tmp_path / "tune.toml", "--space", "loss=hinge,squared_hinge", "--trials", 3,
        "--folds", 2, "--set", "tolerance=0.001", "--out", tmp_path / "tuned", "--json",
    )  # fmt: skip
    best = json.loads(shown)["best_params"]
    assert set(best) == {"C", "loss"}
    written = tomllib.loads((tmp_path / "tuned" / "best.toml").read_text())
    assert written["ranker"] == {"name": "ranksvm", "tolerance": 0.001, **best}
    assert (tmp_path / "tuned" / "study.svg").read_text(encoding="utf-8").startswith("<svg")
    run("train", "--config", tmp_path / "tuned" / "best.toml", "--out", tmp_path / "run")
    assert best["C"] == load(tmp_path / "run" / "model.rank").C


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "no SOURCE"),
        (["train", "none.txt", "--ranker", "ranksvm"], "there is no file none.txt"),
        (["train", "TRAIN", "--ranker", "ranksvn"], "unknown ranker 'ranksvn'; did you mean 'ranksvm'"),
        (["train", "TRAIN", "--ranker", "ranksvm", "--set", "c=1"], "unknown parameter of RankSVM 'c'"),
        (["train", "TRAIN", "--minutes", "5"], "--minutes is for --ranker auto, and this is LambdaMART"),
        (["train", "TRAIN", "--ranker", "ranksvm", "--loss", "hing"], "unknown loss of RankSVM 'hing'"),
        (["train", "TRAIN", "--ranker", "ranksvm", "--set", "C"], "a setting is written key=value, got 'C'"),
        (["train", "TRAIN", "--ranker", "ranksvm", "--out", "."], "exists; choose another --out"),
        (["train", "TRAIN", "--config", "no.toml"], "there is no configuration file no.toml"),
        (["predict", "none", "TRAIN"], "there is no ranker file none"),
        (["predict", "none", "TRAIN", "--out", "scores.dat"], "must end in .csv, .npy, .parquet, .run, .txt"),
        (["tune", "TRAIN", "--ranker", "ranksvm"], "tune needs a space"),
        (["tune", "TRAIN", "--ranker", "ranksvm", "--space", "C"], "a range is written"),
        (["tune"], "no data"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, message, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run(*[files / "train.txt" if argument == "TRAIN" else argument for argument in arguments])


def test_a_wrong_metric_is_refused_before_anything_is_trained(files, monkeypatch):
    monkeypatch.setattr(RankSVM, "fit", None)
    with pytest.raises(ValueError, match="unknown metric 'ndgc'; did you mean 'ndcg'"):
        run("train", files / "train.txt", "--ranker", "ranksvm", "-m", "ndgc@10")


def test_features_of_a_configuration_are_named_by_number(files, tmp_path):
    (tmp_path / "run.toml").write_text(
        f"data = '{files / 'train.txt'}'\n[ranker]\nname = 'lambdamart'\ntrees = 5\nleaves = 4\nthreads = 1\n"
        "interaction = [[0, 1], [2]]\n[ranker.monotone]\n1 = 1\n"
    )
    run("train", "--config", tmp_path / "run.toml", "--out", tmp_path / "run")
    ranker, X = load(tmp_path / "run" / "model.rank"), np.zeros((20, 4), np.float32)
    X[:, 1] = np.linspace(-3, 3, 20)
    assert (np.diff(ranker.predict(X)) >= 0).all()
    run("train", "--config", tmp_path / "run" / "run.toml", "--out", tmp_path / "again")
    assert load(tmp_path / "again" / "model.rank").monotone == {"1": 1}


def test_wrong_configurations(files, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("ranker = ")
    with pytest.raises(ValueError, match="is not valid TOML"):
        run("train", files / "train.txt", "--config", path)
    path.write_text("rankers = 1")
    with pytest.raises(ValueError, match=r"unknown key in .*run.toml 'rankers'; did you mean 'ranker'"):
        run("train", files / "train.txt", "--config", path)
