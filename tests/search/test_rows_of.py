"""Rows by id, many at once: the same as one at a time, also after deletions, updates and merges."""

import tempfile

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Candidates, Index

IDS = st.sampled_from([*"abcdefgh", "ü", "a b", "no"])


@given(
    st.lists(st.tuples(st.sampled_from(["add", "delete", "commit"]), st.lists(IDS, max_size=4)), max_size=12),
    st.lists(IDS, max_size=8),
)
def test_rows_of_is_row_of_each(steps, wanted):
    with tempfile.TemporaryDirectory() as folder:
        index = Index.create(f"{folder}/i", fields={"title": "text"})
        for what, ids in [*steps, ("commit", [])]:
            if what == "add":
                index.update({"id": id, "title": id} for id in ids)
            elif what == "delete":
                index.delete(ids)
            else:
                index.commit()
        snapshot = index.snapshot
        assert snapshot.rows_of(wanted).tolist() == [snapshot.row(id) for id in wanted]


def by_length(ids):
    return np.array([len(id) for id in ids], np.uint64)


def test_two_ids_of_one_hash_are_told_apart(tmp_path, monkeypatch):
    for module in ("segment", "snapshot"):
        monkeypatch.setattr(f"rankloop.search.index.{module}.id_hashes", by_length)
    index = Index.create(tmp_path / "i", fields={"title": "text"})
    index.add([{"id": id, "title": "x"} for id in ("aa", "bb", "cc", "d")])
    index.commit()
    found = Candidates.of("x", index.snapshot, ["cc", "zz", "aa", "bb", "d", "e"])
    assert found.ids.tolist() == ["cc", "aa", "bb", "d"]
