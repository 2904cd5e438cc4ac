"""`rankloop explain`, as a person would call it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from rankloop.cli.explain import explain
from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import LambdaMART

app = typer.Typer()
app.command()(explain)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    data = synthetic(n_queries=20, docs_per_query=8, n_features=4, seed=0)
    LambdaMART(trees=10, leaves=6, threads=1).fit(data).save(folder / "model.rank")
    data.save(folder / "data")
    return folder, data


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_importance_of_a_run_folder(files):
    folder, _ = files
    text = run(folder, folder / "data", "--resamples", 1)
    assert text.splitlines()[0].split()[:2] == ["feature", "ndcg@10"]
    found = json.loads(run(folder / "model.rank", folder / "data", "--by", "gain", "--json"))
    assert found["by"] == "gain"
    assert len(found["features"]) == 4


def test_two_documents_of_a_query(files):
    folder, data = files
    query = data.qid[3]
    text = run(folder, folder / "data", "--query", query, "--a", 1, "--b", 3)
    assert f"query {query}: #1 (rank 1) above #3 (rank 3)" in text
    found = json.loads(run(folder, folder / "data", "--query", query, "--json"))
    assert found["above"]["rank"] == 1
    gap = found["above"]["score"] - found["below"]["score"]
    assert sum(row["share"] for row in found["features"]) == pytest.approx(gap)


def test_mistakes_are_one_sentence(files):
    folder, data = files
    with pytest.raises(ValueError, match="name it with --query"):
        run(folder, folder / "data", "--a", 1)
    with pytest.raises(ValueError, match="unknown query"):
        run(folder, folder / "data", "--query", "nobody asked")
    named = RankingDataset(data.X, data.y, data.row_qid, docid=[f"d{i}" for i in range(data.n_documents)])
    named.save(folder / "named")
    with pytest.raises(ValueError, match="unknown document 'x'"):
        run(folder, folder / "named", "--query", data.qid[0], "--a", "x")
