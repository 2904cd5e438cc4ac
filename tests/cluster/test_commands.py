"""`rankloop shard`, and `--backend` on the commands that have it."""

import json

import polars
import pytest

from rankloop.clicks import simulate, write_clicks
from rankloop.data import synthetic, write_svmlight
from rankloop.data.shards.shards import open_shards

DATA = synthetic(n_queries=60, docs_per_query=6, n_features=4, seed=0)


@pytest.fixture(scope="module")
def folder(output_of, tmp_path_factory):
    """A text file, its shards, and a model trained on them."""
    folder = tmp_path_factory.mktemp("commands")
    write_svmlight(DATA, folder / "set.txt")
    result = json.loads(
        output_of("shard", folder / "set.txt", folder / "set.shards", "--shards", "4", "--json")
    )
    assert (result["kind"], result["shards"], result["rows"]) == ("documents", 4, DATA.n_documents)
    chosen = ("--set", "trees=5", "--set", "threads=1", "--backend", "local", "--workers", "1")
    kept = ("--checkpoint", folder / "kept")
    output_of("train", folder / "set.shards", *chosen, *kept, "--out", folder / "run")
    return folder


def test_training_leaves_a_whole_run_folder(folder):
    names = {path.name for path in (folder / "run").iterdir()}
    assert {"model.rank", "run.toml", "metrics.json", "parameters.json", "data.json"} <= names
    facts = json.loads((folder / "run" / "data.json").read_text())["data"]
    assert facts["fingerprint"] == open_shards(folder / "set.shards").fingerprint
    assert sorted(path.name for path in (folder / "kept").iterdir()) == ["forest-000005.rank", "state.json"]
    assert (facts["queries"], facts["documents"], facts["features"]) == (60, DATA.n_documents, 4)


def test_evaluation_and_scores(output_of, folder, tmp_path):
    model = folder / "run" / "model.rank"
    here = json.loads(output_of("evaluate", model, folder / "set.txt", "-m", "ndcg@10", "--json"))
    there = json.loads(
        output_of("evaluate", model, folder / "set.shards", "-m", "ndcg@10", "--backend", "local", "--json")
    )
    assert there["metrics"]["ndcg@10"] == pytest.approx(here["metrics"]["ndcg@10"])
    result = output_of(
        "predict", folder / "run", folder / "set.txt", "--backend", "local", "--out", tmp_path / "scores"
    )
    assert f"{DATA.n_documents} scores written to 8 shards" in result
    assert open_shards(tmp_path / "scores").n_rows == DATA.n_documents
    with pytest.raises(ValueError, match="name a folder for them with --out"):
        output_of(
            "predict",
            folder / "run",
            folder / "set.txt",
            "--backend",
            "local",
            "--out",
            tmp_path / "scores.txt",
        )
    with pytest.raises(ValueError, match="needs a saved ranker"):
        output_of("evaluate", folder / "set.txt", folder / "set.shards", "--backend", "local")


def test_tuning(output_of, folder):
    arguments = ("--ranker", "ranksvm", "--space", "C=0.1:1", "--folds", "2", "--trials", "2")
    result = json.loads(
        output_of(
            *("tune", folder / "set.shards", *arguments, "--backend", "local", "--workers", "1", "--json"),
            *("--checkpoint", folder / "study"),
        )
    )
    assert len(result["trials"]) == 2
    assert [path.name for path in (folder / "study").iterdir()] == ["study.json"]
    with pytest.raises(ValueError, match="--checkpoint is for work on shards; add --backend"):
        output_of("tune", folder / "set.shards", *arguments, "--checkpoint", folder / "study")
    with pytest.raises(ValueError, match="--timeout would make the study depend on the clock"):
        output_of("tune", folder / "set.shards", *arguments, "--timeout", "3", "--backend", "local")


def test_learning_from_a_log_in_shards(output_of, folder, tmp_path):
    log = simulate(DATA, logging_policy=DATA.X[:, 0], sessions=4000, k=3, randomize="swap", seed=0)
    write_clicks(log, tmp_path / "log.parquet")
    output_of("shard", tmp_path / "log.parquet", tmp_path / "log.shards", "--shards", "3")
    here = json.loads(
        output_of("learn", folder / "set.txt", tmp_path / "log.parquet", "--trees", "4", "--json")
    )
    there = json.loads(
        output_of(
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
    arguments = (
        folder / "set.txt",
        tmp_path / "log.shards",
        "--trees",
        "4",
        "--json",
        "--checkpoint",
        tmp_path / "c",
    )
    for _ in range(2):  # the second time all is counted already
        assert json.loads(output_of("learn", *arguments, "--backend", "local"))["curve"] == here["curve"]
    with pytest.raises(ValueError, match="--checkpoint is for work on shards"):
        output_of("learn", *arguments)
    with pytest.raises(ValueError, match="leave --log-format out"):
        output_of(
            "learn", folder / "set.txt", tmp_path / "log.parquet", "--log-format", "csv", "--backend", "local"
        )


def test_a_shard_folder_that_is_not_there(output_of, folder):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        output_of("train", folder / "none", "--backend", "local", "--out", folder / "no")


def test_tables_of_rows(output_of, tmp_path):
    frame = polars.DataFrame({"q": [1, 1, 2], "grade": [0, 1, 2], "price": [1.0, 2.0, 3.0]})
    frame.write_csv(tmp_path / "rows.csv")
    result = output_of("shard", tmp_path / "rows.csv", tmp_path / "rows", "--qid", "q", "--label", "grade")
    assert "1 shards of documents, 2 queries, 3 rows" in result
    assert open_shards(tmp_path / "rows").features == ("price",)
