"""The .query, .group and .weight files that LightGBM and XGBoost keep beside their text."""

import gzip

import pytest

from rankloop.data import read_svmlight

ROWS = "1 1:1\n0 1:2\n2 1:3\n"


@pytest.fixture
def write(tmp_path):
    def write_files(**files):
        for suffix, text in files.items():
            (tmp_path / ("set" if suffix == "rows" else f"set.{suffix}")).write_text(text)
        return tmp_path / "set"

    return write_files


@pytest.mark.parametrize("suffix", ["query", "group"])
def test_sizes_stand_in_for_query_ids(write, suffix):
    data = read_svmlight(write(rows=ROWS, **{suffix: "2\n1\n"}))
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.qid.tolist() == [1, 2]


def test_several_files_go_on_counting(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(ROWS)
        (tmp_path / f"{name}.query").write_text("1\n2\n")
    assert read_svmlight([tmp_path / "a", tmp_path / "b"]).qid.tolist() == [1, 2, 3, 4]
    (tmp_path / "c").write_text("1 qid:8 1:1\n")
    for paths in (["a", "c"], ["c", "a"]):
        with pytest.raises(ValueError, match="name all or none"):
            read_svmlight([tmp_path / name for name in paths])


def test_a_compressed_file_finds_them_too(tmp_path):
    (tmp_path / "set.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "set.query").write_text("3\n")
    assert read_svmlight(tmp_path / "set.gz").n_queries == 1


def test_weights_by_row_and_by_query(write):
    path = write(rows=ROWS, query="2\n1", weight="0.5\n0.5\n2\n")
    assert read_svmlight(path).item_weight.tolist() == [0.5, 0.5, 2]
    assert read_svmlight(path, weights="query").query_weight.tolist() == [0.5, 2]
    assert read_svmlight(write(weight="3\n1\n")).query_weight.tolist() == [3, 1]
    with pytest.raises(ValueError, match="weights differ within query 1; pass weights='item'"):
        read_svmlight(write(weight="0.5\n0.6\n2\n"), weights="query")
    with pytest.raises(ValueError, match="unknown weights 'rows'"):
        read_svmlight(path, weights="rows")


def test_weights_follow_rows_that_are_gathered(write):
    data = read_svmlight(write(rows="1 qid:a 1:1\n0 qid:b 1:2\n2 qid:a 1:3\n", weight="1\n2\n3\n"))
    assert data.item_weight.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"query": "2\n2\n"}, r"set\.query counts 4 rows in 2 queries, but .*set has 3; make them agree"),
        ({"query": "2\n0\n1\n"}, r"set\.query, line 2: a query has 1 or more rows, got 0"),
        ({"query": "1.5\n1.5\n"}, r"line 1: a query has 1 or more rows, got 1\.5"),
        ({"query": "2\nx\n"}, r"set\.query, line 2: expected one number, got 'x'"),
        (
            {"query": "3\n", "weight": "1\n2\n"},
            r"set\.weight has 2 weights, but .*set has 3 rows in 1 queries",
        ),
        (
            {"query": "3\n", "weight": "1\n-2\n1\n"},
            r"set\.weight, line 2: weights are finite and >= 0, got -2",
        ),
        ({"query": "3\n", "weight": "1\nnan\n1\n"}, "line 2: weights are finite and >= 0, got nan"),
    ],
)
def test_side_files_that_do_not_fit(write, files, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_svmlight(write(rows=ROWS, **files))


def test_sizes_that_do_not_follow_the_query_ids(write):
    path = write(rows="1 qid:a 1:1\n0 qid:a 1:2\n2 qid:b 1:3\n", query="1\n2\n")
    with pytest.raises(ValueError, match="do not match: they differ at row 1; correct one"):
        read_svmlight(path)
    assert read_svmlight(path, side_files=False).lengths.tolist() == [2, 1]
    assert read_svmlight(write(query="2\n1\n")).qid.tolist() == ["a", "b"]


def test_only_some_files_have_weights(tmp_path):
    (tmp_path / "a").write_text("1 qid:1 1:1\n")
    (tmp_path / "b").write_text("1 qid:2 1:1\n")
    (tmp_path / "a.weight").write_text("1\n")
    with pytest.raises(ValueError, match=r"some of the files have a \.weight file and some have none"):
        read_svmlight([tmp_path / "a", tmp_path / "b"])
