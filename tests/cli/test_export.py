"""`rankloop export`, as a person would call it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from rankloop.cli.export import export
from rankloop.data import synthetic
from rankloop.rankers import FeatureSum, LambdaMART, LinearRanker
from rankloop.search import Features, Index

app = typer.Typer()
app.command()(export)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    data = synthetic(n_queries=20, docs_per_query=8, n_features=3, seed=0).replace(feature_names=list("abc"))
    LambdaMART(trees=5, leaves=4, threads=1).fit(data).save(folder / "model.rank")
    return folder / "model.rank"


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.mark.parametrize("to", ["opensearch", "elasticsearch", "solr", "vespa", "ranklib"])
def test_every_target(model, to, tmp_path):
    out = tmp_path / "made"
    assert run(model, "--to", to, "--out", out) == f"written to {out}\n"
    text = out.read_text()
    assert text.startswith("## LambdaMART") if to == "ranklib" else json.loads(text)


@pytest.mark.parametrize("given", ["", "search.rank"])
def test_the_ranker_of_a_pipeline(given, tmp_path):
    """As `rankloop train` on an index or an engine leaves it; no index is needed."""
    index = Index.create(tmp_path / "shop.index", fields={"title": "text", "price": "number"})
    index.add([{"id": at, "title": "red hat", "price": at} for at in range(4)])
    index.commit()
    features = Features(["bm25(title)", "value(price)"])
    search = index.retriever(k=4) >> features >> LinearRanker()
    search.fit({"q": "red", "r": "hat"}, {"q": {"3": 1, "1": 0}, "r": {"2": 1, "0": 0}})
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    search.save(run_folder / "search.rank")
    run(run_folder / given, "--to", "solr", "--complete", "--out", tmp_path / "m1.json")
    made = json.loads((tmp_path / "m1.json").read_text())
    assert made["class"].endswith("LinearModel")
    assert [one["name"] for one in made["features"]] == ["bm25(title)", "value(price)"]
    second = FeatureSum({"value(price)": 1.0}, features=features.names)
    (search >> second).save(run_folder / "search.rank")
    with pytest.raises(ValueError, match="holds 2 rankers by features; one is needed"):
        run(run_folder / given, "--to", "solr", "--out", tmp_path / "m2.json")


def test_onnx(model, tmp_path):
    pytest.importorskip("onnx")
    run(model, "--to", "onnx", "-o", tmp_path / "made.onnx")
    assert (tmp_path / "made.onnx").stat().st_size > 100


def test_names(model, tmp_path):
    (tmp_path / "names.txt").write_text("bm25(title)\nattribute(price)\nnativeRank\n\n")
    run(model, "--to", "vespa", "--features", tmp_path / "names.txt", "--out", tmp_path / "m.json")
    made = json.loads((tmp_path / "m.json").read_text())
    assert made["feature_names"] == ["bm25(title)", "attribute(price)", "nativeRank"]


def test_mistakes(model, tmp_path):
    with pytest.raises(ValueError, match="unknown target 'opensaerch'; did you mean 'opensearch'"):
        run(model, "--to", "opensaerch", "--out", tmp_path / "m")
    with pytest.raises(
        ValueError, match="vespa does not take --store, --complete; its options are --features"
    ):
        run(model, "--to", "vespa", "--store", "s", "--complete", "--out", tmp_path / "m")
