"""Logs read batch by batch: the same log as from the whole frame, and errors that name the row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.clicks import ClickLog, read_clicks
from rankloop.clicks.columns import streamed


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streamed, "AT_ONCE", 7)


def assert_same(one, other):
    assert one.to_frame().equals(other.to_frame())
    for name in ("queries", "documents", "sessions"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name, values in one.columns():
        assert values.dtype.kind == dict(other.columns())[name].dtype.kind


IDS = st.sampled_from(["a", "b", "é", "東京", "long " * 20, "", " x"])


@given(
    st.lists(st.tuples(IDS, st.integers(0, 3), st.permutations(["x", "y", "z"])), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.sampled_from(["parquet", "jsonl"]),
)
def test_equals_the_log_of_the_whole_frame(tmp_path_factory, pages, random, kind):
    rows = [
        {
            "session": f"{at} of {len(pages)}",
            "query": query,
            "document": document,
            "position": position,
            "click": random.randint(0, 1),
            "timestamp": float(at),
            "ranker": f"v{version}",
        }
        for at, (query, version, documents) in enumerate(pages)
        for position, document in enumerate(documents, 1)
    ]
    random.shuffle(rows)
    frame = pl.DataFrame(rows)
    path = tmp_path_factory.mktemp("log") / f"log.{kind}"
    frame.write_parquet(path) if kind == "parquet" else frame.write_ndjson(path)
    assert_same(read_clicks(path), ClickLog.from_frame(frame))


def test_numbers_as_ids_and_wide_numbers(tmp_path):
    frame = pl.DataFrame(
        {
            "session": [2**40 + n // 3 for n in range(30)],
            "query": [n // 15 for n in range(30)],
            "document": [-n for n in range(30)],
            "position": [n % 3 + 1 for n in range(27)] + [1, 300, 70_000],
            "click": [n % 2 == 0 for n in range(30)],
        }
    )
    frame.write_parquet(tmp_path / "log.parquet")
    assert_same(read_clicks(tmp_path / "log.parquet", deepest=10**6), ClickLog.from_frame(frame))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("query", None, "query is missing in row 23"),
        ("session", None, "session is missing in row 23"),
        ("position", None, "position is missing in row 23"),
        ("position", 0, "position is a whole number from 1, got 0 in row 23"),
        ("click", 2, "click is 0 or 1, got 2 in row 23"),
    ],
)
def test_errors_name_the_row_of_the_file(tmp_path, name, value, message):
    columns = {
        "session": [f"s{n}" for n in range(30)],
        "query": ["q"] * 30,
        "document": [f"d{n}" for n in range(30)],
        "position": [1] * 30,
        "click": [0] * 30,
    }
    columns[name][23] = value
    pl.DataFrame(columns).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=message):
        read_clicks(tmp_path / "log.parquet")


def test_a_repeated_rank_names_the_session_as_it_is_written(tmp_path):
    frame = pl.DataFrame(
        {
            "session": ["ann"] * 2,
            "query": ["q"] * 2,
            "document": ["a", "b"],
            "position": [1, 1],
            "click": [0, 0],
        }
    )
    frame.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match="taken twice on the page of session ann"):
        read_clicks(tmp_path / "log.parquet")


def test_a_log_keeps_few_bytes_a_row(tmp_path):
    """Codes of 4 bytes, positions of 4, clicks of 1, whatever the width of the columns in the file."""
    rows = 5000
    frame = pl.DataFrame(
        {
            "session": [f"session {n // 10} with a long name" for n in range(rows)],
            "query": [f"a query of many words {n // 1000}" for n in range(rows)],
            "document": [f"document {n % 50}" for n in range(rows)],
            "position": [n % 10 + 1 for n in range(rows)],
            "click": np.zeros(rows, np.int64),
        }
    )
    frame.write_parquet(tmp_path / "log.parquet")
    log = read_clicks(tmp_path / "log.parquet")
    of_rows = (log.row_document.code, log.position, log.click)
    assert sum(one.itemsize for one in of_rows) == 9
