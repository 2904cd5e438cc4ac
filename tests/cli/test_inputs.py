"""Files named on the command line: every command reads the same data sets."""

import gzip
import json

import numpy as np
import polars
import pytest
import zstandard
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.cli.options.inputs import read_judgments, read_ranking
from rankloop.data import open_dataset, save_dataset, synthetic, to_frame, write_shards, write_svmlight
from rankloop.data.kind_of import DATASETS, KINDS
from rankloop.rankers import LinearRanker

DATA = synthetic(n_queries=12, docs_per_query=4, n_features=2, seed=0)
LINES = {"run": "q1 Q0 doc-7 1 12.5 bm25\n", "qrels": "q1 0 doc-7 2\n", "scores": "0.25\n1e-3\n"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A data set in every form, under names that do not tell it; and a ranker."""
    folder = tmp_path_factory.mktemp("inputs")
    write_svmlight(DATA, folder / "plain.txt")
    content = (folder / "plain.txt").read_bytes()
    (folder / "svmlight").write_bytes(content)
    (folder / "svmlight.parquet").write_bytes(gzip.compress(content))
    (folder / "svmlight.csv").write_bytes(zstandard.compress(content))
    to_frame(DATA).write_parquet(folder / "parquet.txt")
    to_frame(DATA).write_csv(folder / "csv.dat")
    to_frame(DATA).write_ndjson(folder / "jsonl.txt")
    save_dataset(DATA, folder / "saved.txt")
    write_shards(DATA, folder / "shards.txt", shards=3)
    LinearRanker().fit(DATA).save(folder / "model")
    return folder


FORMS = (
    "svmlight",
    "svmlight.parquet",
    "svmlight.csv",
    "parquet.txt",
    "csv.dat",
    "jsonl.txt",
    "saved.txt",
    "shards.txt",
)
COMMANDS = {
    "train": ("train", "DATA", "--ranker", "linear", "--out", "OUT"),
    "evaluate": ("evaluate", "MODEL", "DATA"),
    "predict": ("predict", "MODEL", "DATA", "--out", "OUT.txt"),
    "tune": ("tune", "DATA", "--ranker", "ranksvm", "--space", "C=0.1,1", "--trials", "1", "--folds", "2"),
    "convert": ("convert", "DATA", "OUT.txt"),
    "shard": ("shard", "DATA", "OUT", "--shards", "2"),
}


def run(command, data, files, tmp_path):
    words = {"DATA": str(data), "MODEL": str(files / "model"), "OUT": str(tmp_path / "out")}
    words["OUT.txt"] = str(tmp_path / "out.txt")
    return CliRunner().invoke(app, [words.get(word, word) for word in COMMANDS[command]])


def test_the_forms_are_all_that_a_data_set_has():
    assert {name.partition(".")[0] for name in FORMS} == set(DATASETS)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_every_form(command, name, files, tmp_path):
    done = run(command, files / name, files, tmp_path)
    assert done.exit_code == 0, done.output
    if command == "convert":
        found = open_dataset(tmp_path / "out.txt")
        assert (found.n_queries, found.n_documents) == (DATA.n_queries, DATA.n_documents)
        assert sorted(found.X.ravel().tolist()) == sorted(DATA.X.ravel().tolist())


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "evaluate"])
def test_every_command_refuses_what_is_no_data_set(command, files, tmp_path):
    path = tmp_path / "bm25.txt"
    path.write_text(LINES["run"])
    done = run(command, path, files, tmp_path)
    assert isinstance(done.exception, ValueError) or done.exit_code != 0
    assert f"is {KINDS['run']}, not a data set" in str(done.exception) + done.output


def test_each_kind_in_its_place(tmp_path):
    paths = {}
    for kind, text in LINES.items():
        paths[kind] = tmp_path / f"{kind}.txt"
        paths[kind].write_text(text)
    assert read_judgments(paths["qrels"])["q1"] == {"doc-7": 2.0}
    assert read_ranking(paths["run"])["q1"] == {"doc-7": 12.5}
    assert read_ranking(paths["scores"]).tolist() == [0.25, 1e-3]
    with pytest.raises(ValueError, match=r"run\.txt is a TREC run .* has no labels; judgments are TREC"):
        read_judgments(paths["run"])
    with pytest.raises(
        ValueError, match=r"qrels\.txt is TREC judgments .*, not a ranking; a ranking is a TREC"
    ):
        read_ranking(paths["qrels"])


def test_a_run_folder_is_its_ranker(files, tmp_path):
    (tmp_path / "linear").mkdir()
    (tmp_path / "linear" / "model.rank").write_bytes((files / "model").read_bytes())
    assert isinstance(read_ranking(tmp_path / "linear"), LinearRanker)


def test_scores_may_be_an_array(tmp_path):
    np.save(tmp_path / "s.npy", np.array([1.5, 2.5]))
    assert read_ranking(tmp_path / "s.npy").tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("text", "message"), [("1\nx\n2\n", "line 2: wanted one number, got 'x'"), ("1\n\n2\n", "line 2")]
)
def test_a_bad_score_is_named_by_its_line(text, message, tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_ranking(path)


def test_click_logs_under_any_name(tmp_path):
    from rankloop.clicks import read_clicks

    log = {
        "session": [1, 1],
        "query": ["q", "q"],
        "document": ["a", "b"],
        "position": [1, 2],
        "click": [0, 1],
    }
    frame = polars.DataFrame(log)
    frame.write_parquet(tmp_path / "log.csv")
    frame.write_csv(tmp_path / "log.jsonl")
    frame.write_ndjson(tmp_path / "log")
    for name in ("log.csv", "log.jsonl", "log"):
        assert len(read_clicks(tmp_path / name)) == 2


def test_convert_counts_the_judgments_that_it_wrote(tmp_path):
    """Not those that it read: two raters became one label, and nobody rated the last document."""
    rated = [{"rating": 3, "user_email": "ann"}, {"rating": 2, "user_email": "bob"}]
    pairs = [
        {"query_text": "red", "doc_id": "17", "judgements": rated},
        {"query_text": "red", "doc_id": "4", "judgements": [{"rating": None, "unrateable": True}]},
    ]
    book, out = tmp_path / "book.json", tmp_path / "out"
    book.write_text(json.dumps({"name": "b", "query_doc_pairs": pairs}))
    done = CliRunner().invoke(app, ["convert", str(book), str(out), "--format", "o19s"])
    assert done.output.strip().endswith("out: 1 judgments, from 2 ratings")
    done = CliRunner().invoke(app, ["convert", str(book), str(out), "--format", "quepid-book"])
    assert done.output.strip().endswith("out: 2 judgments")
    done = CliRunner().invoke(app, ["convert", str(book), str(out), "--format", "trec", "--json"])
    assert json.loads(done.output)["judgments"] == 1


def test_judgments_of_tools(tmp_path):
    """A run is measured against the ratings of a Quepid case, and the case becomes TREC judgments."""
    case, run = tmp_path / "case.csv", tmp_path / "run.txt"
    case.write_text("query,doc_id,rating\r\ntv,a,3\r\ntv,b,0\r\nunrated,,\r\n")
    run.write_text("tv Q0 b 1 2.0 x\ntv Q0 a 2 1.0 x\n")
    assert read_judgments(case).to_dict() == {"tv": {"a": 3.0, "b": 0.0}}
    done = CliRunner().invoke(app, ["evaluate", str(run), str(case), "-m", "mrr", "--json"])
    assert json.loads(done.stdout)["metrics"]["mrr"]["mean"] == 0.5
    out = tmp_path / "qrels.txt"
    done = CliRunner().invoke(app, ["convert", str(case), str(out), "--format", "trec"])
    assert done.exit_code == 0
    assert out.read_text() == "1 0 a 3\n1 0 b 0\n"
    both = CliRunner().invoke(app, ["convert", str(case), str(case), str(out), "--format", "trec"])
    assert "--format is for one file of judgments" in str(both.exception)


def test_judgments_of_a_click_log(tmp_path):
    log, out = tmp_path / "log.csv", tmp_path / "case.csv"
    log.write_text("session,query,document,position,click\n1,tv,a,1,1\n1,tv,b,2,0\n2,tv,b,1,0\n2,tv,a,2,1\n")
    words = ["clicks", "judge", str(log), "--format", "quepid", "--grades", "3", "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.stdout == f"2 judgments written to {out}\n"
    ratings = read_judgments(out)["tv"]
    assert ratings["a"] > ratings["b"]
