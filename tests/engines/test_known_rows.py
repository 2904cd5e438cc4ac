"""Remembered rows are those that the snapshot gives, whatever was asked before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankloop.engines.remote.known_rows import KnownRows

IDS = st.lists(st.integers(0, 12).map(str), max_size=12, unique=True)


class Rows:
    """A snapshot of documents with rows, which counts how many ids it was asked for."""

    def __init__(self, rows):
        self.rows, self.asked = rows, 0

    def rows_of(self, ids):
        self.asked += len(ids)
        return np.array([self.rows.get(id, -1) for id in ids], np.int64)


@given(asked=st.lists(st.tuples(st.booleans(), IDS), max_size=12), most=st.integers(0, 20))
def test_the_same_rows_as_the_snapshot(asked, most):
    snapshots = Rows({str(at): at for at in range(10)}), Rows({str(at): 20 - at for at in range(5, 12)})
    known = KnownRows(most)
    for which, ids in asked:
        found = known.of(snapshots[which], ids)
        assert found.dtype == np.int64
        assert found.tolist() == [snapshots[which].rows.get(id, -1) for id in ids]
        assert len(known._state[1]) <= max(most, 12)


def test_a_document_is_looked_up_once():
    snapshot, known = Rows({"a": 3}), KnownRows()
    for _ in range(3):
        assert known.of(snapshot, ["a", "gone"]).tolist() == [3, -1]
    assert snapshot.asked == 2
    other = Rows({"a": 7})
    assert known.of(other, ["a"]).tolist() == [7]
    assert known.of(snapshot, ["a"]).tolist() == [3]
