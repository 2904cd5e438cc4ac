"""The first day of a data scientist and of an IR researcher, command by command."""

import io
import json
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import polars
import pytest
from typer.testing import CliRunner

import rankloop
from commands import running
from rankloop._extras import MODULES, extra_of, require_modules
from rankloop.cli import app, main
from rankloop.cli.options.help import in_one_sentence
from rankloop.cli.options.reading import Reading
from rankloop.data import (
    Run,
    open_shards,
    read_run,
    read_svmlight,
    synthetic,
    write_run,
    write_shards,
    write_svmlight,
)
from rankloop.rankers import LambdaMART, RankSVM, load

run = running(app)


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A table under other column names, text, and a run folder of each."""
    at = tmp_path_factory.mktemp("day")
    data = synthetic(n_queries=20, docs_per_query=6, n_features=3, seed=1).replace(feature_names=None)
    write_svmlight(data, at / "data.txt")
    table = data.to_frame().rename(
        {"qid": "query", "label": "grade", "f1": "bm25", "f2": "age", "f3": "price"}
    )
    table = table.with_columns(sku=polars.Series([f"s{i}" for i in range(len(table))]))
    table.write_csv(at / "data.csv")
    table.write_parquet(at / "data.parquet")
    table[:60].write_csv(at / "part-1.csv")
    table[60:].write_csv(at / "part-2.csv")
    apart = table.sample(fraction=1.0, shuffle=True, seed=3)
    apart.write_csv(at / "apart.csv")
    apart.drop("grade").write_csv(at / "new.csv")
    apart.drop("grade").write_parquet(at / "new.parquet")
    lines = (at / "data.txt").read_text().splitlines(keepends=True)
    np.random.default_rng(0).shuffle(lines)
    (at / "apart.txt").write_text("".join(lines))
    (at / "new.txt").write_text("".join(line.split(" ", 1)[1] for line in lines))
    (at / "names.txt").write_text("bm25\nage\nprice\n")
    run("train", at / "data.csv", *COLUMNS, "--ranker", "ranksvm", "-o", at / "runs" / "table")
    run("train", at / "data.txt", "--ranker", "ranksvm", "-o", at / "runs" / "text")
    return at


COLUMNS = ("--qid", "query", "--label", "grade", "--docid", "sku")
NEW = ("--qid", "query", "--docid", "sku")


def test_columns_of_a_table_have_any_names(at):
    assert load(at / "runs" / "table").feature_names_in_.tolist() == ["bm25", "age", "price"]
    found = json.loads(run("evaluate", at / "runs" / "table", at / "data.parquet", *COLUMNS, "--json"))
    same = json.loads(run("evaluate", at / "runs" / "text", at / "data.txt", "--json"))
    assert found["metrics"] == same["metrics"]


def test_a_table_with_any_names_is_converted(tmp_path):
    table = polars.DataFrame(
        {
            "query": ["a", "a", "b"],
            "sku": ["x", "y", "z"],
            "grade": [1, 0, 2],
            "price": [3.0, 4.0, 5.0],
            "n": 7,
        }
    )
    table.write_csv(tmp_path / "shop.csv")
    columns = ("--qid", "query", "--label", "grade", "--docid", "sku", "--feature-columns", "price")
    run("convert", tmp_path / "shop.csv", tmp_path / "out.txt", *columns)
    made = read_svmlight(tmp_path / "out.txt")
    assert made.X.tolist() == [[3.0], [4.0], [5.0]]
    assert made.y.tolist() == [1.0, 0.0, 2.0]
    assert list(made.docid) == ["x", "y", "z"]
    (tmp_path / "names.txt").write_text("cost\n")
    run("convert", tmp_path / "out.txt", tmp_path / "out.parquet", "--feature-names", tmp_path / "names.txt")
    assert "cost" in polars.read_parquet(tmp_path / "out.parquet").columns
    with pytest.raises(ValueError, match="--qid is for tables"):
        run("convert", tmp_path / "out.txt", tmp_path / "folder", "--qid", "query")
    with pytest.raises(ValueError, match="--feature-names is for SVMLight text"):
        run("convert", tmp_path / "shop.csv", tmp_path / "folder", "--feature-names", tmp_path / "names.txt")
    more = ("--feature-names", tmp_path / "names.txt", "--zero-based")
    with pytest.raises(ValueError, match="one file of text"):
        run("convert", tmp_path / "out.txt", tmp_path / "folder", *more)


def test_a_table_with_any_names_becomes_shards(at, tmp_path):
    run("shard", at / "data.csv", tmp_path / "shards", "--shards", 2, *COLUMNS)
    made, whole = open_shards(tmp_path / "shards"), Reading("query", "grade", "sku").dataset(at / "data.csv")
    found = {str(id) for part in made for id in part.docid}
    assert found == set(map(str, whole.docid))
    assert made.n_rows == whole.n_documents
    with pytest.raises(ValueError, match=r"column.*'skuu'.*sku"):
        run("shard", at / "data.csv", tmp_path / "more", *COLUMNS[:4], "--docid", "skuu")


def test_a_glob_is_one_data_set(at):
    whole, parts = (
        Reading("query", "grade", "sku").dataset(at / name) for name in ("data.csv", "part-*.csv")
    )
    assert whole.fingerprint() == parts.fingerprint()


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_documents_without_labels_get_scores_in_the_order_of_the_rows(at, name, tmp_path):
    """The rows of a query are apart; a score stands where its row does."""
    run("predict", at / "runs" / "table", at / name, *NEW, "-o", tmp_path / "scores.txt")
    scores = np.loadtxt(tmp_path / "scores.txt")
    rows = polars.read_csv(at / "new.csv")
    expected = load(at / "runs" / "table").predict(rows.select("bm25", "age", "price"))
    np.testing.assert_allclose(scores, expected)
    run("predict", at / "runs" / "table", at / name, *NEW, "-o", tmp_path / "scores.run")
    ranked = read_run(tmp_path / "scores.run")
    for query, sku, score in zip(rows["query"], rows["sku"], expected, strict=True):
        assert ranked[str(query)][sku] == pytest.approx(score)


def test_text_without_labels_too(at, tmp_path):
    run("predict", at / "runs" / "text", at / "new.txt", "-o", tmp_path / "a.npy")
    run("predict", at / "runs" / "text", at / "apart.txt", "-o", tmp_path / "b.npy")
    scores = np.load(tmp_path / "a.npy")
    np.testing.assert_array_equal(scores, np.load(tmp_path / "b.npy"))
    rows = [line.split() for line in (at / "apart.txt").read_text().splitlines()]
    X = np.array([[float(part.split(":")[1]) for part in row[2:]] for row in rows], np.float32)
    np.testing.assert_allclose(scores, load(at / "runs" / "text").predict(X))


def test_scores_in_the_order_of_rows_that_are_apart_are_matched(at, tmp_path):
    run("predict", at / "runs" / "text", at / "apart.txt", "-o", tmp_path / "scores.txt")
    by_scores = json.loads(run("evaluate", tmp_path / "scores.txt", at / "apart.txt", "--json"))
    by_ranker = json.loads(run("evaluate", at / "runs" / "text", at / "apart.txt", "--json"))
    assert by_scores["metrics"] == by_ranker["metrics"]


def test_one_numbering_of_features(at):
    data = read_svmlight(at / "data.txt")
    ranker = LambdaMART(trees=3, threads=1).fit(data)
    shown = rankloop.importance(ranker, by="split")
    assert shown.names == ("feature 1", "feature 2", "feature 3")
    assert data.to_frame().columns[-3:] == ["f1", "f2", "f3"]
    by_first = rankloop.evaluate(data.X[:, 0], data, "ndcg@10").mean["ndcg@10"]
    told = json.loads(run("evaluate", at / "data.txt", "--by", "1", "-m", "ndcg@10", "--json"))
    assert told["metrics"]["ndcg@10"]["mean"] == pytest.approx(by_first)
    rising = [
        LambdaMART(trees=5, threads=1, monotone=one).fit(data).predict(data) for one in ({"1": 1}, {0: 1})
    ]
    np.testing.assert_array_equal(*rising)


def test_a_file_names_the_features_of_text(at, tmp_path):
    run(
        "train",
        at / "data.txt",
        "--feature-names",
        at / "names.txt",
        "--ranker",
        "ranksvm",
        "-o",
        tmp_path / "run",
    )
    assert load(tmp_path / "run").feature_names_in_.tolist() == ["bm25", "age", "price"]
    (tmp_path / "map.txt").write_text("1 age\n0 bm25\n2 price\n")  # as XGBoost's feature maps
    named = Reading(feature_names=str(tmp_path / "map.txt")).dataset(at / "data.txt")
    assert named.feature_names == ("bm25", "age", "price")
    shown = run(
        "evaluate", at / "data.txt", "--by", "age", "--feature-names", at / "names.txt", "-m", "ndcg@10"
    )
    assert shown == run("evaluate", at / "data.txt", "--by", "2", "-m", "ndcg@10")


def test_two_documents_by_id_or_by_place(at):
    asked = ("explain", at / "runs" / "table", at / "data.csv", *COLUMNS, "--query", 1, "--json")
    by_place = json.loads(run(*asked, "--a", "1", "--b", "3"))
    ids = by_place["above"]["document"], by_place["below"]["document"]
    assert (by_place["above"]["rank"], by_place["below"]["rank"]) == (1, 3)
    assert json.loads(run(*asked, "--a", ids[0], "--b", ids[1])) == by_place
    assert json.loads(run(*asked, "--a", "#1", "--b", ids[1])) == by_place


@pytest.mark.parametrize(
    ("given", "ours"),
    [("n_estimators", "trees"), ("num_leaves", "leaves"), ("eta", "learning_rate"), ("n_jobs", "threads")],
)
def test_parameters_of_other_libraries_have_a_hint(given, ours):
    with pytest.raises(TypeError, match=f"here it is called '{ours}'"):
        LambdaMART(**{given: 1})
    with pytest.raises(ValueError, match=f"here it is called '{ours}'"):
        LambdaMART().set_params(**{given: 1})
    with pytest.raises(TypeError, match="unknown parameter of LambdaMART 'depht'"):
        LambdaMART(depht=3)


def test_the_printed_forms_hold_the_same_figures(at, tmp_path):
    asked = ("evaluate", at / "runs" / "text", at / "data.txt", "-m", "ndcg@10", "-m", "P_5")
    told = json.loads(run(*asked, "--format", "json"))["metrics"]
    table = polars.read_csv(io.StringIO(run(*asked, "--format", "csv")))
    assert table["metric"].to_list() == ["ndcg@10", "P_5"]
    assert table["mean"].to_list() == [told[name]["mean"] for name in ("ndcg@10", "P_5")]
    assert f"| ndcg@10 | {told['ndcg@10']['mean']:.4f} |" in run(*asked, "--format", "markdown")
    assert rf"P\_5 & {told['P_5']['mean']:.4f}" in run(*asked, "--format", "latex")
    run(*asked, "--format", "csv", "-o", tmp_path / "figures.csv")
    assert polars.read_csv(tmp_path / "figures.csv").equals(table)
    run(*asked, "--report", tmp_path / "page.html", "--per-query", tmp_path / "each.csv")
    assert "ndcg@10" in (tmp_path / "page.html").read_text()
    assert len(polars.read_csv(tmp_path / "each.csv")) == 20


def test_systems_have_names_and_come_from_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    better = {f"q{i}": {"a": 2.0, "b": 1.0} for i in range(8)}
    worse = {f"q{i}": {"a": 1.0, "b": 2.0} for i in range(8)}
    write_run(Run.from_dict(worse), "old.run")
    write_run(Run.from_dict(better), "new.run")
    Path("qrels").write_text("".join(f"q{i} 0 a 1\n" for i in range(8)))
    text = Path("new.run").read_text()
    asked = ("-m", "recip_rank", "--qrels", "qrels", "--format", "csv")
    table = polars.read_csv(io.StringIO(run("compare", "words=old.run", "vectors=-", *asked, stdin=text)))
    assert table["system"].to_list() == ["words", "vectors"]
    assert table["difference"].to_list() == [None, 0.5]
    assert table["p_holm"][1] < 0.05
    shown = run("evaluate", "-", "qrels", "-m", "P_1", stdin=text)
    assert "P_1     1.0000" in shown


def test_a_fusion_is_tuned_by_judgments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    good, bad, qrels = {}, {}, []
    for q in range(30):
        relevant = int(rng.integers(10))
        noise = rng.normal(size=(2, 10))
        good[f"q{q}"] = {f"d{d}": float(3 * (d == relevant) + noise[0, d]) for d in range(10)}
        bad[f"q{q}"] = {f"d{d}": float(noise[1, d]) for d in range(10)}
        qrels.append(f"q{q} 0 d{relevant} 1\n")
    write_run(Run.from_dict(good), "good.run")
    write_run(Run.from_dict(bad), "bad.run")
    Path("qrels").write_text("".join(qrels))
    told = json.loads(
        run("fuse", "good.run", "bad.run", "--qrels", "qrels", "-m", "mrr", "-o", "best.run", "--json")
    )
    assert told["value"] > told["equal"] + 0.1
    assert told["held_out"] > told["equal"]
    assert told["weights"][0] > told["weights"][1]
    again = rankloop.evaluate(read_run("best.run"), rankloop.read_qrels("qrels"), "mrr").mean["mrr"]
    assert again == pytest.approx(told["value"])
    for method in ("rrf", "comb_sum", "comb_mnz"):
        run("fuse", "good.run", "bad.run", "--method", method, "-o", f"{method}.run")


def test_the_version_and_help(capsys, monkeypatch):
    assert run("--version") == f"rankloop {rankloop.__version__}\n"
    for command in ("train", "evaluate", "index", "clicks"):
        shown = run(command, "--help")
        assert "<bool>" not in shown
        assert "list[" not in shown
    assert "[default: " in run("tune", "--help")  # brackets stay


def test_all_missing_modules_are_named_at_once(monkeypatch, capsys):
    with pytest.raises(
        ModuleNotFoundError,
        match=r"needs no_one and no_two; install them with: pip install 'rankloop\[all\]'",
    ):
        require_modules("no_one", "no_two", "math")
    monkeypatch.setattr(
        "rankloop._extras.find_spec", lambda name: None if name in ("Stemmer", "sqlalchemy") else 1
    )
    with pytest.raises(ModuleNotFoundError, match=r"Stemmer and sqlalchemy; .*'rankloop\[search,serve\]'"):
        require_modules("Stemmer", "sqlalchemy", "fastapi")
    assert extra_of("sqlalchemy.orm") == "serve"

    def missing():
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")

    monkeypatch.setattr("rankloop.cli.app", missing)
    monkeypatch.setattr(sys, "argv", ["rankloop"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == (
        "rankloop: this needs sqlalchemy; install it with: pip install 'rankloop[serve]'\n"
    )


def test_the_modules_are_those_of_the_extras():
    project = tomllib.loads((Path(rankloop.__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    packages = {"Stemmer": "PyStemmer", "xgboost": "xgboost-cpu", "prometheus_client": "prometheus-client"}
    packages |= {"sentence_transformers": "sentence-transformers", "opensearchpy": "opensearch-py"}
    packages |= {"mlflow": "mlflow-skinny"}
    for extra, modules in MODULES.items():
        brought = [line.split(">")[0].split("[")[0] for line in extras[extra]]
        assert {packages.get(one, one) for one in modules} == set(brought), extra
    assert set(extras["all"][0].removeprefix("rankloop[").rstrip("]").split(",")) >= set(MODULES)


def test_an_address_reaches_the_command_as_it_was_typed(at, tmp_path):
    """`Path` would drop one of its slashes."""
    pytest.importorskip("fsspec")
    write_shards(at / "data.txt", "memory://first-day/set", shards=2)
    run("train", "memory://first-day/set", "--ranker", "ranksvm", "-o", tmp_path / "run")
    found = json.loads(run("evaluate", tmp_path / "run", "memory://first-day/set", "--json"))
    same = json.loads(run("evaluate", at / "runs" / "text", at / "data.txt", "--json"))
    for name, figures in same["metrics"].items():
        assert found["metrics"][name]["mean"] == pytest.approx(figures["mean"])


def test_a_run_folder_is_a_model(at):
    np.testing.assert_array_equal(
        load(at / "runs" / "text").predict(np.eye(3)),
        load(at / "runs" / "text" / "model.rank").predict(np.eye(3)),
    )
    assert isinstance(rankloop.load(at / "runs" / "text"), RankSVM)


@pytest.mark.parametrize(
    ("command", "option", "hint"),
    [
        ("train", "--trees", "--set trees=..."),
        ("train", "--n-estimators", "--set trees=..."),
        ("tune", "--num-leaves", "--set leaves=..."),
    ],
)
def test_a_parameter_given_as_an_option_is_told_how_it_is_given(command, option, hint):
    done = CliRunner().invoke(app, [command, "data.txt", option, "30"])
    assert done.exit_code == 2
    assert f"a parameter of the ranker is given as in {hint}" in " ".join(done.output.split())
    wrong = CliRunner().invoke(app, [command, "data.txt", "--metrik", "30"])
    assert "--metric" in wrong.output
    assert "parameter of the ranker" not in wrong.output


def test_an_index_of_documents_under_another_id_says_how_to_name_it(tmp_path):
    lines = [{"title": f"red hat {one}", "kind": 3, "sku": f"s{one}"} for one in range(3)]
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, lines)))
    put = ["index", str(tmp_path / "shop.jsonl"), "-o", str(tmp_path / "shop.index")]
    done = CliRunner().invoke(app, put)
    assert "name the field that identifies a document, as in --id sku" in str(done.exception)
    run(*put, "--id", "sku")


@pytest.mark.parametrize(
    ("given", "hint"), [(("--label", "price"), "--qid"), (("--qid", "query"), "--label")]
)
def test_a_column_that_is_missing_is_named_by_an_option(at, capsys, monkeypatch, given, hint):
    monkeypatch.setattr(sys, "argv", ["rankloop", "train", str(at / "new.csv"), *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"with {hint}; known: " in capsys.readouterr().err


def test_a_warning_is_a_sentence_without_a_place_in_our_code():
    with in_one_sentence():
        told = [warnings.formatwarning("short", kind, "a.py", 3) for kind in (UserWarning, RuntimeWarning)]
    assert told == ["rankloop: warning: short\n", "a.py:3: RuntimeWarning: short\n"]


def test_columns_of_a_log_are_named_on_every_command_that_reads_one(at, tmp_path):
    rows = [(f"s{s}", f"hat {s % 4}", f"d{r}", r, int(r == s % 3 + 1)) for s in range(30) for r in (1, 2, 3)]
    other = ["visit", "words", "sku", "place", "hit"]
    table = polars.DataFrame(rows, schema=other, orient="row")
    table.write_csv(tmp_path / "log.csv")
    ours = ("session", "query", "document", "position", "click")
    named = ",".join(map("=".join, zip(ours, other, strict=True)))
    for words in (
        ("clicks", "check"),
        ("clicks", "fit", "--model", "pbm"),
        ("clicks", "propensity", "--identifiability"),
    ):
        output = run(*words, tmp_path / "log.csv", "--columns", named, "--json")
        assert json.loads(output[output.index("{") :])
    run("report", tmp_path / "log.csv", "--columns", named, "-o", tmp_path / "log.html")
    assert "Click log" in (tmp_path / "log.html").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["convert", "hdfs:///a/b.txt", "c.parquet"], "and hdfs:///a/b.txt is an address; copy it first"),
        (["check", "s3://a/b.index"], "and s3://a/b.index is an address; copy it first"),
        (["backup", "shop.index", "--out=s3://a/b"], "and s3://a/b is an address; copy it first"),
    ],
)
def test_an_address_where_a_file_is_wanted_is_refused_as_it_was_typed(monkeypatch, capsys, words, sentence):
    monkeypatch.setattr(sys, "argv", ["rankloop", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_file_system_that_wants_a_package_says_so_in_a_sentence(capsys):
    with pytest.raises(SystemExit) as ended, in_one_sentence():
        raise ImportError("Install s3fs to access S3")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "rankloop: install s3fs to access S3\n"
    with pytest.raises(ImportError, match="cannot import name"), in_one_sentence():
        raise ImportError("cannot import name 'x' from 'rankloop'")
