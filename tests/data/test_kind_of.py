"""The kind of a file or folder is told by its content, whatever its name."""

import gzip
import json
import zipfile

import numpy as np
import polars
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import kind_of, save_dataset, synthetic, write_parquet, write_shards
from rankloop.data.kind_of import KINDS

DATA = synthetic(n_queries=4, docs_per_query=3, n_features=2, seed=0)
LOG = polars.DataFrame(
    {"session": [1, 1], "query": ["q", "q"], "document": ["a", "b"], "position": [1, 2], "click": [0, 1]}
)
LINES = {
    "run": "q1 Q0 doc-7 1 12.5 bm25\n",
    "qrels": "q1 0 doc-7 2\n",
    "svmlight": "2 qid:1 1:0.5 2:3 # docid = x\n",
    "scores": "0.25\n1e-3\n",
    "csv": "qid,label,title length\nq1,2,3\n",
    "jsonl": '{"qid": "q1", "label": 2, "bm25": 0.5}\n',
    "clicks.csv": LOG.write_csv(),
    "clicks.jsonl": LOG.write_ndjson(),
    "clicks.metarank": '{"event": "item", "id": "x", "timestamp": "1", "item": "7", "fields": []}\n',
    "ubi.queries": '{"query_id": "q-1", "user_query": "red shoes", "query_response_hit_ids": ["17"]}\n',
    "ubi.events": '[{"action_name": "click", "query_id": "q-1", "timestamp": "2026-03-01T10:00:00Z"}]\n',
}


def written(kind, path):
    """A file or folder of a kind that is not text."""
    if kind == "saved":
        save_dataset(DATA, path)
    elif kind == "shards":
        write_shards(DATA, path, shards=2)
    elif kind == "parquet":
        write_parquet(DATA, path)
    elif kind == "clicks.parquet":
        LOG.write_parquet(path)
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.arange(3.0))
    elif kind == "judgments":
        path.write_text("query,doc_id,rating\nred shoes,17,3\n")
    elif kind == "beir":
        (path / "qrels").mkdir(parents=True)
        (path / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n')
    elif kind == "index":
        from rankloop.search import Index

        Index.create(str(path), fields={"title": "text"}).commit()
    else:
        from rankloop.rankers import LinearRanker

        LinearRanker().fit(DATA).save(path)


@pytest.mark.parametrize(("kind", "text"), LINES.items())
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_text_is_told_by_its_first_line(kind, text, pack, tmp_path):
    path = tmp_path / "file.dat"
    path.write_bytes(pack(("# a comment\n\n" + text).encode()))
    assert kind_of(path) == kind
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert kind_of(path) == kind


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(LINES)))
@pytest.mark.parametrize("name", ["thing", "thing.txt", "thing.parquet"])
def test_other_kinds_under_any_name(kind, name, tmp_path):
    written(kind, tmp_path / name)
    assert kind_of(tmp_path / name) == kind
    assert kind_of(str(tmp_path / name)) == kind


def test_a_run_without_a_tag_and_features_without_a_query(tmp_path):
    path = tmp_path / "file"
    path.write_text("q1 Q0 d 1 0.5\n")
    assert kind_of(path) == "run"
    path.write_text("2 1:0.5 6:0.87\n")
    assert kind_of(path) == "svmlight"


def test_damaged_binary_files_are_left_to_their_readers(tmp_path):
    with zipfile.ZipFile(tmp_path / "model", "w") as model:
        model.writestr("manifest.json", "{}")
    assert kind_of(tmp_path / "model") == "ranker"
    (tmp_path / "rows").write_bytes(b"PAR1....")
    assert kind_of(tmp_path / "rows") == "parquet"
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "shard-00000-0123.parquet").write_bytes(b"")
    assert kind_of(tmp_path / "begun") == "shards"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"# nothing but a comment\n", gzip.compress(b"", mtime=0)],
    ids=["nothing", "blank lines", "a comment", "packed nothing"],
)
def test_an_empty_file(content, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"empty\.txt is empty; wanted SVMLight text .* or a search index"):
        kind_of(path)


def test_a_file_or_folder_of_no_known_kind(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("Dear diary, today I ranked\n")
    with pytest.raises(ValueError, match=r"cannot tell what .*notes\.md is: it begins 'Dear diary"):
        kind_of(path)
    with pytest.raises(ValueError, match=r"cannot tell what the folder .* is: it has no manifest\.json"):
        kind_of(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"manifest\.json is damaged or cut short; write the folder"):
        kind_of(tmp_path)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(b"\x1f\x8bnot really")
    with pytest.raises(ValueError, match="compressed data"):
        kind_of(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.run"):
        kind_of(tmp_path / "gone.run")


@given(st.binary(max_size=200))
def test_any_bytes_are_recognised_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    try:
        found = kind_of(path)
    except ValueError as error:
        found = str(error)
    assert found in KINDS or str(path) in found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1048578\t7187234\t1\n", "run"),  # of MS MARCO
        ('{"index": {"_index": "ubi_events"}}\n{"action_name": "click", "timestamp": 1}\n', "ubi.events"),
        (
            '[\n{"query_id": "1", "user_query": "tv"},\n{"query_id": "2", "user_query": "hi"}]\n',
            "ubi.queries",
        ),
        ('{"event": "ranking", "id": "r", "items": [{"id": "a"}]}\n', "clicks.metarank"),
        ('{"event": "party", "id": "r"}\n', "jsonl"),
        ('{"user_query": "a title", "label": 1}\n', "jsonl"),
        ('{"query_id": "1", "user_query": "tv", "query": "' + "x" * 70_000 + '"}\n', "ubi.queries"),
    ],
    ids=range(7),
)
def test_records_of_other_tools(tmp_path, text, kind):
    path = tmp_path / "file"
    path.write_text(text)
    assert kind_of(path) == kind
