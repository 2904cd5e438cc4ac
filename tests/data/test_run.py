"""Runs: reading, writing, order, and what is refused."""

import gzip
import os
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import RankingDataset, Run, kind_of, read_run, write_run

ids = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)
numbers = st.floats(allow_nan=False)
tables = st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@given(table=tables)
def test_what_is_written_is_read_back(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("run")
    run = Run.from_dict(table, tag="mine")
    for name in ("run.txt", "run.txt.gz", "run.txt.zst"):
        write_run(run, folder / name)
        again = read_run(folder / name)
        assert again == table
        assert again.tag == "mine"
        np.testing.assert_array_equal(again.docid, run.docid)
        np.testing.assert_array_equal(again.scores, run.scores)


@given(table=tables)
def test_documents_fall_in_score_and_queries_keep_their_order(table):
    run = Run.from_dict(table)
    assert list(run) == list(table)
    for query, documents in table.items():
        assert list(run[query].items()) == sorted(documents.items(), key=lambda item: -item[1])


@given(
    text=st.one_of(
        st.decimals(allow_nan=False, allow_infinity=False, places=None).map(str),
        st.from_regex(r"[+-]?[0-9]{1,24}(\.[0-9]{0,24})?", fullmatch=True),
        st.floats(allow_nan=False).map(repr),
    )
)
def test_scores_are_the_nearest_double(tmp_path_factory, text):
    path = write(tmp_path_factory.mktemp("run") / "run", f"q Q0 d 1 {text} tag")
    assert read_run(path).scores[0] == float(text)


def test_random_decimals_of_16_to_18_digits_are_exact(tmp_path):
    rng = np.random.default_rng(0)
    texts = [repr(value) for value in (rng.normal(size=2000) * 10.0 ** rng.integers(-3, 4, 2000)).tolist()]
    texts += [f"{rng.integers(10**17)}.{rng.integers(10)}" for _ in range(2000)]
    path = write(tmp_path / "run", "".join(f"q Q0 d{i} 1 {t}\n" for i, t in enumerate(texts)))
    run = read_run(path)
    assert run == {"q": {f"d{i}": float(t) for i, t in enumerate(texts)}}


def test_blanks_tabs_line_ends_and_empty_lines(tmp_path):
    text = "\n  q1\tQ0   a 1 2.5 t\r\n\n\t\nq1 Q0 b 2 -1e-3 t\nq2 Q0 a 1 +7 t"
    assert read_run(write(tmp_path / "run", text)) == {"q1": {"a": 2.5, "b": -0.001}, "q2": {"a": 7.0}}


def test_the_rank_column_is_ignored_and_queries_may_be_scattered(tmp_path):
    text = "q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\nq1 Q0 b 9 3 t\nq1 Q0 c 2 1 t\n"
    run = read_run(write(tmp_path / "run", text))
    assert run.qid.tolist() == ["q1", "q2"]
    assert run.docid.tolist() == ["b", "a", "c", "a"]
    assert run.offsets.tolist() == [0, 3, 4]


def test_a_missing_tag_is_no_mistake(tmp_path):
    assert read_run(write(tmp_path / "run", "q Q0 d 1 2\n")).tag == "rankloop"


def test_ids_that_look_like_numbers_stay_text(tmp_path):
    run = read_run(write(tmp_path / "run", "1 Q0 01 1 2 t\n1 Q0 1 2 1 t\n"))
    assert run["1"] == {"01": 2.0, "1": 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2\n", r"line 2: a line has 5 fields .*got 4"),
        ("q1 Q0 a 1 1 my tag\n", r"line 1: a line has 6 fields .*got 7"),
        ("q1 Q0 a 1 high t\n", "line 1: the score must be a number, got 'high'"),
        ("q1 Q0 a 1 nan t\n", "line 1: the score must be a number, got 'nan'"),
        ("q1 Q0 a 1 1_0 t\n", "got '1_0'"),
        ("q1 Q0 a 1 - t\n", "got '-'"),
        ("q1 Q0 a 1 . t\n", "got '.'"),
        ("q1 Q0 a 1 1 t\n\nq2 Q0 a 1 1 t\nq1 Q0 a 2 2 t\n", "line 4: document a of query q1 was .*line 1;"),
        ("", "holds no lines"),
        ("\n \n", "holds no lines"),
        (b"q1 Q0 a 1 1 t\nq1 Q0 \xff 1 1 t\n", "line 2: byte 0xff is not UTF-8 text"),
        (b"q1 Q0 a\0 1 1 t\n", "line 1: byte 0x00 is not UTF-8 text"),
        (gzip.compress(b"q1 Q0 a 1 1 t\n" * 99, mtime=0)[:-12], "ends in the middle"),
        (b"\x1f\x8b nonsense", "broken compressed"),
        (zstandard.compress(b"q1 Q0 a 1 1 t\n" * 99)[:-3], "ends in the middle"),
        (b"\x28\xb5\x2f\xfd nonsense", "broken compressed|ends in the middle"),
    ],
)
def test_bad_files_end_in_one_sentence(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_run(write(tmp_path / "run", content))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_run(tmp_path / "nowhere")


@given(content=st.binary(max_size=200))
def test_random_bytes_never_crash(tmp_path_factory, content):
    path = write(tmp_path_factory.mktemp("run") / "run", content)
    with suppress(ValueError):
        made = read_run(path)
        assert len(made.docid) == len(made.scores) == made.offsets[-1]


def test_bad_rows():
    with pytest.raises(ValueError, match="nan in row 1"):
        Run(["q", "q"], ["a", "b"], [1.0, float("nan")])
    with pytest.raises(ValueError, match="row 2: document a of query q was already in row 0"):
        Run(["q", "p", "q"], ["a", "a", "a"], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one id per row"):
        Run(["q"], ["a", "b"], [1.0, 2.0])
    with pytest.raises(KeyError):
        Run(["q"], ["a"], [1.0])["p"]


def test_from_a_data_set_and_its_scores():
    data = RankingDataset([[0.0]] * 3, [0, 1, 0], [7, 7, 8], docid=["a", "b", "a"])
    assert Run.from_dataset(data, [1.0, 2.0, 3.0]) == {"7": {"a": 1.0, "b": 2.0}, "8": {"a": 3.0}}
    bare = RankingDataset([[0.0]] * 3, [0, 1, 0], [7, 7, 8])
    assert Run.from_dataset(bare, [1.0, 2.0, 3.0])["7"] == {"0": 1.0, "1": 2.0}
    with pytest.raises(ValueError, match="one score per row"):
        Run.from_dataset(data, [1.0])


def test_nothing_half_written_is_left(tmp_path):
    run = Run(["q"], ["\ud800"], [1.0])
    with pytest.raises(UnicodeEncodeError):
        write_run(run, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("query", "document"), [("a b", "d"), ("q", ""), ("q", "d\n"), ("q\t1", "d")])
def test_ids_that_a_file_cannot_hold(tmp_path, query, document):
    with pytest.raises(ValueError, match="empty or holds a blank"):
        write_run(Run([query], [document], [1.0]), tmp_path / "run")


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path):
    assert list(read_run(write(tmp_path / "run", b"\xef\xbb\xbfq1 Q0 a 1 1 t\n"))) == ["q1"]


def test_a_file_of_one_endless_line_is_refused(tmp_path):
    path = write(tmp_path / "run", "q1 Q0 a 1 1 t")
    os.truncate(path, 200 << 20)
    with pytest.raises(ValueError, match="a line is longer than"):
        read_run(path)


def test_a_run_of_ms_marco_is_read_and_written(tmp_path):
    """Lines of query, document and rank, in any order; the score is the rank with a minus sign."""
    path = write(tmp_path / "run.tsv", "2\t70\t1\n1\t9\t2\n1\t8\t1\n")
    run = read_run(path)
    assert run == {"2": {"70": -1.0}, "1": {"8": -1.0, "9": -2.0}}
    assert run.docid.tolist() == ["70", "8", "9"]
    assert run.tag == "rankloop"
    write_run(run, tmp_path / "again.tsv.gz", format="msmarco")
    assert read_run(tmp_path / "again.tsv.gz") == run
    assert kind_of(path) == kind_of(tmp_path / "again.tsv.gz") == "run"
    with pytest.raises(ValueError, match="format"):
        write_run(run, tmp_path / "no", format="msmacro")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t8\tfirst\n", "line 1: the rank must be a number, got 'first'"),
        ("1\t8\t1\n1\t9\n", r"line 2: a line has 3 fields \(query document rank\), got 2"),
        ("1\t8\t1\n1\t8\t2\n", "line"),
    ],
)
def test_a_wrong_line_of_ms_marco_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_run(write(tmp_path / "run.tsv", text))
