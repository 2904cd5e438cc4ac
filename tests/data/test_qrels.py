"""Judgments: reading, writing, other layouts, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Qrels, RankingDataset, read_qrels, write_qrels

ids = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)
grades = st.one_of(st.integers(-2, 5).map(float), st.floats(-3, 5, width=32))
tables = st.dictionaries(ids, st.dictionaries(ids, grades, min_size=1, max_size=5), min_size=1, max_size=4)


@given(table=tables)
def test_what_is_written_is_read_back(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("qrels") / "qrels.gz"
    qrels = Qrels.from_dict(table)
    write_qrels(qrels, path)
    again = read_qrels(path)
    assert again == table == qrels.to_dict()
    np.testing.assert_array_equal(again.docid, qrels.docid)


def test_other_layouts(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nPLAIN-2\tMED-10\t2\nPLAIN-2\tMED-9\t1\n")
    qrels = read_qrels(path, fields=("query", "document", "label"), header=True)
    assert qrels == {"PLAIN-2": {"MED-10": 2.0, "MED-9": 1.0}}


def test_negative_judgments_are_kept_and_whole_ones_written_whole(tmp_path):
    path = tmp_path / "qrels"
    write_qrels(Qrels(["q"] * 3, ["a", "b", "c"], [-2, 1, 0.5]), path)
    assert path.read_text() == "q 0 a -2\nq 0 b 1\nq 0 c 0.5\n"
    assert read_qrels(path)["q"] == {"a": -2.0, "b": 1.0, "c": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 a\n", r"line 1: a line has 4 fields \(query iteration document label\), got 3"),
        ("q 0 a 1\nq 0 a 1\n", "line 2: document a of query q was already in line 1"),
        ("q 0 a yes\n", "line 1: the label must be a number, got 'yes'"),
        ("q 0 b 1\nq 0 a inf\n", "line 2: the label must be finite"),
        ("", "holds no lines"),
    ],
)
def test_bad_files_end_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "qrels"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_qrels(path)


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="fields must name query, document and label"):
        read_qrels(tmp_path / "qrels", fields=("query", "doc", "label"))
    with pytest.raises(ValueError, match="finite"):
        Qrels(["q"], ["a"], [np.inf])
    with pytest.raises(ValueError, match="numbers"):
        Qrels(["q"], ["a"], ["high"])


def test_labels_of_a_data_set():
    data = RankingDataset([[0.0]] * 3, [0, 1, 0], [7, 8, 7], docid=[1, 2, 3])
    assert Qrels.from_dataset(data) == {"7": {"1": 0.0, "3": 0.0}, "8": {"2": 1.0}}
