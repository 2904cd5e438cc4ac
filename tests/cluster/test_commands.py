"""`rankloop shard`, and `--backend` on the commands that have it."""

import json

import polars
import pytest

from rankloop.clicks import simulate, write_clicks
from rankloop.data import synthetic, write_svmlight
from rankloop.data.shards.shards import open_shards

DATA = synthetic(n_queries=60, docs_per_query=6, n_features=4, seed=0)


@pytest.fixture(scope="module")
def folder(said, tmp_path_factory):
    """A text file, its shards, and a model trained on them."""
    folder = tmp_path_factory.mktemp("commands")
    write_svmlight(DATA, folder / "set.txt")
    told = json.loads(said("shard", folder / "set.txt", folder / "set.shards", "--shards", "4", "--json"))
    assert (told["kind"], told["shards"], told["rows"]) == ("documents", 4, DATA.n_documents)
    chosen = ("--set", "trees=5", "--set", "threads=1", "--backend", "local", "--workers", "1")
    kept = ("--checkpoint", folder / "kept")
    said("train", folder / "set.shards", *chosen, *kept, "--out", folder / "run")
    return folder


def test_training_leaves_a_whole_run_folder(folder):
    names = {path.name for path in (folder / "run").iterdir()}
    assert {"model.rank", "run.toml", "metrics.json", "parameters.json", "data.json"} <= names
    facts = json.loads((folder / "run" / "data.json").read_text())["data"]
    assert facts["fingerprint"] == open_shards(folder / "set.shards").fingerprint
    assert sorted(path.name for path in (folder / "kept").iterdir()) == ["forest-000005.rank", "state.json"]
    assert (facts["queries"], facts["documents"], facts["features"]) == (60, DATA.n_documents, 4)


def test_evaluation_and_scores(said, folder, tmp_path):
    model = folder / "run" / "model.rank"
    here = json.loads(said("evaluate", model, folder / "set.txt", "-m", "ndcg@10", "--json"))
    there = json.loads(
        said("evaluate", model, folder / "set.shards", "-m", "ndcg@10", "--backend", "local", "--json")
    )
    assert there["metrics"]["ndcg@10"] == pytest.approx(here["metrics"]["ndcg@10"])
    told = said(
        "predict", folder / "run", folder / "set.txt", "--backend", "local", "--out", tmp_path / "scores"
    )
    assert f"{DATA.n_documents} scores written to 8 shards" in told
    assert open_shards(tmp_path / "scores").n_rows == DATA.n_documents
    with pytest.raises(ValueError, match="name a folder for them with --out"):
        said(
            "predict",
            folder / "run",
            folder / "set.txt",
            "--backend",
            "local",
            "--out",
            tmp_path / "scores.txt",
        )
    with pytest.raises(ValueError, match="needs a saved ranker"):
        said("evaluate", folder / "set.txt", folder / "set.shards", "--backend", "local")


def test_tuning(said, folder):
    pytest.importorskip("optuna")
    asked = ("--ranker", "ranksvm", "--space", "C=0.1:1", "--folds", "2", "--trials", "2")
    told = json.loads(
        said(
            *("tune", folder / "set.shards", *asked, "--backend", "local", "--workers", "1", "--json"),
            *("--checkpoint", folder / "study"),
        )
    )
    assert len(told["trials"]) == 2
    assert [path.name for path in (folder / "study").iterdir()] == ["study.json"]
    with pytest.raises(ValueError, match="--checkpoint is for work on shards; add --backend"):
        said("tune", folder / "set.shards", *asked, "--checkpoint", folder / "study")
    with pytest.raises(ValueError, match="--timeout would make the study depend on the clock"):
        said("tune", folder / "set.shards", *asked, "--timeout", "3", "--backend", "local")


def test_learning_from_a_log_in_shards(said, folder, tmp_path):
    log = simulate(DATA, logging_policy=DATA.X[:, 0], sessions=4000, k=3, randomize="swap", seed=0)
    write_clicks(log, tmp_path / "log.parquet")
    said("shard", tmp_path / "log.parquet", tmp_path / "log.shards", "--shards", "3")
    here = json.loads(said("learn", folder / "set.txt", tmp_path / "log.parquet", "--trees", "4", "--json"))
    there = json.loads(
        said(
            "learn",
            folder / "set.txt",
            tmp_path / "log.shards",
            "--trees",
            "4",
            "--backend",
            "local",
            "--json",
        )
    )
    assert there["curve"] == here["curve"]
    assert there["chosen"] == here["chosen"]
    asked = (
        folder / "set.txt",
        tmp_path / "log.shards",
        "--trees",
        "4",
        "--json",
        "--checkpoint",
        tmp_path / "c",
    )
    for _ in range(2):  # the second time all is counted already
        assert json.loads(said("learn", *asked, "--backend", "local"))["curve"] == here["curve"]
    with pytest.raises(ValueError, match="--checkpoint is for work on shards"):
        said("learn", *asked)
    with pytest.raises(ValueError, match="leave --format out"):
        said("learn", folder / "set.txt", tmp_path / "log.parquet", "--format", "csv", "--backend", "local")


def test_a_shard_folder_that_is_not_there(said, folder):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        said("train", folder / "none", "--backend", "local", "--out", folder / "no")


def test_tables_of_rows(said, tmp_path):
    frame = polars.DataFrame({"q": [1, 1, 2], "grade": [0, 1, 2], "price": [1.0, 2.0, 3.0]})
    frame.write_csv(tmp_path / "rows.csv")
    told = said("shard", tmp_path / "rows.csv", tmp_path / "rows", "--qid", "q", "--label", "grade")
    assert "1 shards of documents, 2 queries, 3 rows" in told
    assert open_shards(tmp_path / "rows").features == ("price",)
