"""Grouping rows by query."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.columns.group import group_rows


@given(qid=st.lists(st.integers(0, 4), max_size=30))
def test_groups_are_those_of_a_dict(qid):
    rows = {}
    for row, query in enumerate(qid):
        rows.setdefault(query, []).append(row)
    found = group_rows(np.array(qid, np.int64))
    order = [row for group in rows.values() for row in group]
    assert found.qid.tolist() == list(rows)
    assert np.diff(found.offsets).tolist() == [len(group) for group in rows.values()]
    assert found.apply(np.arange(len(qid))).tolist() == order
    assert found.new_row()[order].tolist() == list(range(len(qid)))
    assert (found.order is None) == (order == list(range(len(qid))))
