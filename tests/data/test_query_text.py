"""Texts of queries: beside the rows of a data set, in comments of SVMLight files, in tables and folders."""

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import (
    RankingDataset,
    concat,
    convert,
    fingerprint,
    from_frame,
    load_dataset,
    open_dataset,
    read_svmlight,
    save_dataset,
    to_frame,
    write_shards,
    write_svmlight,
)

O19S = """# qid:1: rambo*1
# qid:2: rocky balboa*1
#
4\tqid:1\t1:9.8\t2:12.3 # 7555\trambo
3\tqid:1\t1:1.5\t2:2 # 1370\trambo
1\tqid:2\t1:0.5\t2:1 # a-9\trocky balboa
"""


def small():
    return RankingDataset(
        [[1.0], [2.0], [3.0]],
        [0, 1, 2],
        ["a", "b", "a"],
        docid=["x", "y", "z"],
        query_text={"a": "red shoes", "b": "héllo"},
    )


def test_comments_of_elasticsearch_files(tmp_path):
    path = tmp_path / "judgments.txt"
    path.write_text(O19S)
    data = read_svmlight(path)
    assert data.docid.tolist() == ["7555", "1370", "a-9"]
    assert data.query_text.tolist() == ["rambo", "rocky balboa"]
    assert data.qid.tolist() == [1, 2]
    convert(path, tmp_path / "saved")
    assert fingerprint(load_dataset(tmp_path / "saved", verify=True)) == fingerprint(data)


def test_only_the_header(tmp_path):
    path = tmp_path / "judgments.txt"
    path.write_text("# qid:1: red *2\n# some words\n# qid:9: nowhere*1\n1 qid:1 1:1\n0 qid:2 1:2\n")
    data = read_svmlight(path)
    assert data.query_text.tolist() == ["red", ""]
    assert data.docid is None


@pytest.mark.parametrize(
    ("comment", "docid", "text"),
    [
        ("# docid = GX01 inc = 1", "GX01", None),
        ("#docid = GX01\tinc\t1", "GX01", None),
        ("# 17\tred  shoes \t", "17", "red  shoes"),
        ("#17\tred shoes\r", "17", "red shoes"),
        ("# 17\tthe docid = 4 query", "17", "the docid = 4 query"),
        ("# 17\t", "17", None),
        ("# just words", None, None),
        ("# docid\t=\tGX", "GX", None),
    ],
)
def test_forms_of_a_comment(tmp_path, comment, docid, text):
    path = tmp_path / "one.txt"
    path.write_bytes(f"1 qid:q 1:1 {comment}\n".encode())
    data = read_svmlight(path)
    assert (None if data.docid is None else str(data.docid[0])) == docid
    assert (None if data.query_text is None else data.query_text[0]) == text


def naive_comment(comment):
    """The docid and the text of the query in a comment, by splitting: the twin of `find_comments`."""
    body = comment[1:].lstrip(" ")
    head, tab, rest = body.partition("\t")
    if tab and not set(head) & set(" \r") and head != "docid":
        return head, rest.strip(" \t\r")
    words = comment[1:].replace("\t", " ").replace("\r", " ").split(" ")
    for i, word in enumerate(words):
        before = comment[: 1 + len(" ".join(words[:i])) + (i > 0)][-1:]
        if word.startswith("docid") and before in "# \t\r":
            behind = comment[1 + len(" ".join(words[:i])) + (i > 0) + 5 :].lstrip(" \t\r=:")
            return behind.replace("\t", " ").replace("\r", " ").split(" ")[0], ""
    return "", ""


@given(st.lists(st.sampled_from(["docid", "=", ":", " ", "\t", "7", "ab", "\r"]), max_size=9).map("".join))
@settings(max_examples=300, deadline=None)
def test_comments_as_their_twin_reads_them(tmp_path_factory, comment):
    path = tmp_path_factory.mktemp("comment") / "one.txt"
    path.write_bytes(f"1 qid:q 1:1 #{comment}\n".encode())
    data = read_svmlight(path)
    found = "" if data.docid is None else str(data.docid[0])
    text = "" if data.query_text is None else data.query_text[0]
    assert (found, text) == naive_comment("#" + comment)


IDS = st.text("abcé1:#=", min_size=1, max_size=4).filter(lambda one: one[0] not in "=:" and one != "docid")
TEXTS = st.text("ab é#=:1\t", max_size=8).map(lambda one: one.strip(" \t"))


@given(
    st.lists(st.tuples(st.sampled_from("pqr"), IDS), min_size=1, max_size=8), st.tuples(TEXTS, TEXTS, TEXTS)
)
@settings(max_examples=100, deadline=None)
def test_written_and_read_back(tmp_path_factory, rows, texts):
    path = tmp_path_factory.mktemp("text") / "set.txt"
    given = dict(zip("pqr", texts, strict=True))
    data = RankingDataset(
        np.arange(len(rows), dtype=np.float32)[:, None],
        np.zeros(len(rows)),
        [query for query, _ in rows],
        docid=[f"i{document}" for _, document in rows],
        query_text=given,
    )
    write_svmlight(data, path)
    back = read_svmlight(path)
    assert back.docid.astype(str).tolist() == data.docid.tolist()
    found = [""] * len(data) if back.query_text is None else back.query_text.tolist()
    assert found == data.query_text.tolist()


def test_what_cannot_be_written(tmp_path):
    data = small()
    with pytest.raises(ValueError, match="beside docids, which this data set lacks"):
        write_svmlight(data.replace(docid=None), tmp_path / "set.txt")
    with pytest.raises(ValueError, match=r"'two\\nlines' cannot be written"):
        write_svmlight(data.replace(query_text=["two\nlines", "b"]), tmp_path / "set.txt")


def test_they_follow_their_queries(tmp_path):
    data = small()
    assert data.query_text.tolist() == ["red shoes", "héllo"]
    assert data.select([1]).query_text.tolist() == ["héllo"]
    assert data.replace(y=[0, 0, 0]).query_text.tolist() == ["red shoes", "héllo"]
    other = RankingDataset([[1.0]], [0], ["c"], docid=["w"])
    assert concat([data, other]).query_text.tolist() == ["red shoes", "héllo", ""]
    save_dataset(data, tmp_path / "set")
    assert load_dataset(tmp_path / "set", verify=True).query_text.tolist() == ["red shoes", "héllo"]
    assert from_frame(to_frame(data)).query_text.tolist() == ["red shoes", "héllo"]
    plain = data.replace(query_text=None)
    assert fingerprint(plain) != fingerprint(data)
    assert fingerprint(plain) == fingerprint(
        RankingDataset(plain.X, plain.y, plain.row_qid, docid=plain.docid)
    )


def test_shards_keep_them(tmp_path):
    data = small()
    data.save(tmp_path / "set")
    write_shards(tmp_path / "set", tmp_path / "shards", shards=2)
    back = open_dataset(tmp_path / "shards")
    texts = dict(zip(back.qid.tolist(), back.query_text.tolist(), strict=True))
    assert texts == {"a": "red shoes", "b": "héllo"}


def test_by_row():
    data = RankingDataset([[1.0]] * 3, [0, 1, 2], ["a", "b", "a"], query_text=["x", "y", "x"])
    assert data.query_text.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="query_text differs within query a; give one text per query"):
        RankingDataset([[1.0]] * 3, [0, 1, 2], ["a", "b", "a"], query_text=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"one text per query \(2\) or per row \(3\), got 1"):
        RankingDataset([[1.0]] * 3, [0, 1, 2], ["a", "b", "a"], query_text=["x"])
    frame = polars.DataFrame({"qid": [1], "label": [0], "f": [1.0], "query_text": [None]})
    assert from_frame(frame).query_text.tolist() == [""]
