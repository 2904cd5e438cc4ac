import gzip
import zipfile

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankloop.cli.options.inputs import kind_of, read_judgments, read_ranking

LINES = {
    "run": "q1 Q0 doc-7 1 12.5 bm25\n",
    "qrels": "q1 0 doc-7 2\n",
    "svmlight": "2 qid:1 1:0.5 2:3 # docid = x\n",
    "scores": "0.25\n1e-3\n",
}


@pytest.mark.parametrize(("kind", "text"), LINES.items())
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_text_is_told_by_its_first_line(kind, text, pack, tmp_path):
    path = tmp_path / "file.dat"
    path.write_bytes(pack(("# a comment\n\n" + text).encode()))
    assert kind_of(path) == kind


def test_a_run_without_a_tag_and_features_without_a_query(tmp_path):
    path = tmp_path / "file"
    path.write_text("q1 Q0 d 1 0.5\n")
    assert kind_of(path) == "run"
    path.write_text("2 1:0.5 6:0.87\n")
    assert kind_of(path) == "svmlight"


def test_binary_files_are_told_by_their_first_bytes(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3.0))
    assert kind_of(tmp_path / "a.npy") == "npy"
    with zipfile.ZipFile(tmp_path / "model", "w") as model:
        model.writestr("manifest.json", "{}")
    assert kind_of(tmp_path / "model") == "ranker"
    (tmp_path / "rows").write_bytes(b"PAR1....")
    assert kind_of(tmp_path / "rows") == "parquet"
    assert kind_of(tmp_path) == "saved"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing but a comment\n"])
def test_an_empty_file(content, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"empty\.txt is empty; wanted a TREC run"):
        kind_of(path)


def test_a_stranger(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("Dear diary, today I ranked\n")
    with pytest.raises(ValueError, match=r"cannot tell what .*notes\.md is: it begins 'Dear diary"):
        kind_of(path)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(b"\x1f\x8bnot really")
    with pytest.raises(ValueError, match="gzip file is damaged"):
        kind_of(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.run"):
        kind_of(tmp_path / "gone.run")


@given(st.binary(max_size=200))
def test_any_bytes_are_told_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    try:
        told = kind_of(path)
    except ValueError as error:
        told = str(error)
    assert told in (*LINES, "npy", "ranker", "parquet") or str(path) in told


def test_each_kind_in_its_place(tmp_path):
    paths = {}
    for kind, text in LINES.items():
        paths[kind] = tmp_path / f"{kind}.txt"
        paths[kind].write_text(text)
    assert read_judgments(paths["qrels"])["q1"] == {"doc-7": 2.0}
    assert read_ranking(paths["run"])["q1"] == {"doc-7": 12.5}
    assert read_ranking(paths["scores"]).tolist() == [0.25, 1e-3]
    with pytest.raises(
        ValueError, match=r"run\.txt is a TREC run .* holds no labels; the judgments are TREC"
    ):
        read_judgments(paths["run"])
    with pytest.raises(
        ValueError, match=r"qrels\.txt is TREC judgments .*, not a ranking; a ranking is a TREC"
    ):
        read_ranking(paths["qrels"])


def test_scores_may_be_an_array(tmp_path):
    np.save(tmp_path / "s.npy", np.array([1.5, 2.5]))
    assert read_ranking(tmp_path / "s.npy").tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("text", "said"), [("1\nx\n2\n", "line 2: wanted one number, got 'x'"), ("1\n\n2\n", "line 2")]
)
def test_a_bad_score_is_named_by_its_line(text, said, tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_ranking(path)
