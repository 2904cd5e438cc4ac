"""Rows from tables in memory are those that the snapshot finds in its files, whatever came and went."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.engines.remote import known_rows
from rankloop.engines.remote.known_rows import KnownRows
from rankloop.search import Index

IDS = st.lists(st.integers(0, 15).map(str), max_size=12)
ASKED = [str(at) for at in range(20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("known")


@settings(max_examples=25)
@given(steps=st.lists(st.tuples(st.booleans(), IDS), max_size=6), most=st.integers(0, 30))
def test_the_same_rows_as_the_snapshot(folder, steps, most):
    path = folder / f"{len(list(folder.iterdir()))}.index"
    index, known = Index.create(path, fields={"title": "text"}), KnownRows(most)
    before = index.snapshot
    for adding, ids in steps:
        if adding:
            index.update([{"id": id, "title": "red shoes"} for id in dict.fromkeys(ids)])
        else:
            index.delete(list(dict.fromkeys(ids)))
        index.commit()
        for snapshot in (index.snapshot, before, index.snapshot):
            found = known.of(snapshot, ASKED)
            assert found.dtype == np.int64
            assert found.tolist() == snapshot.rows_of(ASKED).tolist()
            assert sum(len(table.hashes) for table in known._tables.values()) <= most
        before = index.snapshot
    assert known.of(index.snapshot, []).tolist() == []


def test_ids_with_one_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(known_rows, "_hashes", lambda ids: np.array([int(id) // 3 for id in ids], np.int64))
    index, known = Index.create(tmp_path / "shop.index", fields={"title": "text"}), KnownRows()
    index.add([{"id": str(at), "title": "red"} for at in range(9)])
    index.commit()
    index.delete(["4", "8"])
    index.commit()
    ids = ["8", "7", "4", "3", "0"]
    assert known.of(index.snapshot, ids).tolist() == index.snapshot.rows_of(ids).tolist()
    assert known.of(index.snapshot, ids).tolist() == [-1, 7, -1, 3, 0]


def test_a_commit_makes_the_table_of_what_is_new(tmp_path, monkeypatch):
    index, known = Index.create(tmp_path / "shop.index", fields={"title": "text"}), KnownRows()
    index.add([{"id": f"a{at}", "title": "red"} for at in range(50)])
    index.commit()
    made = []

    def counted(segment, make=known_rows._table):
        made.append(segment.documents)
        return make(segment)

    monkeypatch.setattr(known_rows, "_table", counted)
    assert known.of(index.snapshot, ["a3", "b0"]).tolist() == [3, -1]
    index.add([{"id": "b0", "title": "blue"}])
    index.delete(["a3"])
    index.commit()
    assert known.of(index.snapshot, ["a3", "b0"]).tolist() == index.snapshot.rows_of(["a3", "b0"]).tolist()
    assert made == [50, 1]
