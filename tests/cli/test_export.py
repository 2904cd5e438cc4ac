"""`rankloop export`, as a person would call it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from rankloop.cli.export import export
from rankloop.data import synthetic
from rankloop.rankers import LambdaMART

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
