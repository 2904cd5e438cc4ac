"""Aggregates put together: by a dictionary, and by the kernel that moves whole queries."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankloop.clicks import Aggregate, ClickLog, aggregate
from rankloop.clicks.aggregate import _cells, _summed, light, merged
from rankloop.clicks.columns.columns import Coded, code, one_table
from rankloop.clicks.columns.side_by_side import KINDS, Cells, side_by_side

SPELT = {"numbers": np.int64, "text": np.str_}

keys = st.tuples(st.integers(0, 5), st.integers(-3, 12), st.integers(1, 4))
cells = st.dictionaries(keys, st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=12)


def made(counts, kind="numbers", extra=()):
    """An aggregate of {(query, document, position): (impressions, clicks)}, its cells in the order given.

    `extra` ids are in its tables and in no cell.
    """
    names = [
        code(np.array([*(key[i] for key in counts), *extra], np.int64).astype(SPELT[kind])) for i in range(2)
    ]
    query, document = (name.take(slice(len(counts))) for name in names)
    position = np.array([key[2] for key in counts], np.int32)
    shown, clicks = (np.array([value[i] for value in counts.values()], np.int64) for i in range(2))
    return Aggregate(query, document, position, shown, clicks)


def by_dictionary(parts, kinds):
    """The naive twin: ids become text where parts differ in kind."""
    mixed = len({kind for counts, kind in zip(parts, kinds, strict=True) if counts}) > 1
    total = {}
    for counts, kind in zip(parts, kinds, strict=True):
        for (query, document, position), (shown, clicks) in counts.items():
            spelt = str if mixed or kind == "text" else int
            key = spelt(query), spelt(document), position
            before = total.get(key, (0, 0))
            total[key] = before[0] + shown, before[1] + clicks
    return [(*key, *value) for key, value in sorted(total.items())]


@given(
    st.lists(st.tuples(cells, st.sampled_from(["numbers", "text"]), st.booleans()), min_size=1, max_size=5)
)
@example([({(0, 1, 1): (1, 0), (1, 2, 1): (2, 0)}, "numbers", True), ({(2, 1, 1): (3, 1)}, "numbers", True)])
@example([({(3, 10, 1): (1, 0), (3, 9, 1): (1, 1)}, "text", True), ({(10, 9, 1): (1, 0)}, "numbers", True)])
@example([({}, "text", True), ({(1, 1, 1): (1, 0)}, "numbers", True), ({}, "numbers", False)])
def test_sums_against_a_dictionary(given_parts):
    """Parts in order or not, with queries and documents of their own or of others, of any kind of id."""
    parts = [dict(sorted(counts.items())) if ordered else counts for counts, _, ordered in given_parts]
    kinds = [kind for _, kind, _ in given_parts]
    found = merged([made(counts, kind) for counts, kind in zip(parts, kinds, strict=True)])
    assert found.to_frame().rows() == by_dictionary(parts, kinds)
    assert (found.position.dtype, found.impressions.dtype, found.clicks.dtype) == (np.int32, *[np.int64] * 2)
    assert found.row_query.code.dtype == found.row_document.code.dtype == np.int32


@given(cells, st.lists(st.integers(0, 3), min_size=6, max_size=6), st.sampled_from(["numbers", "text"]))
def test_parts_without_a_common_query_are_not_sorted_again(counts, owner, kind):
    """Each query belongs to one part, as in shards; documents are shared, and some ids have no cell."""
    spelt = SPELT[kind]
    parts = [
        made(
            dict(sorted(mine.items(), key=lambda one: [spelt(id) for id in one[0][:2]] + [one[0][2]])),
            kind,
            [90],
        )
        for part in range(4)
        for mine in [{key: value for key, value in counts.items() if owner[key[0]] == part}]
    ]
    queries, places = one_table([part.row_query.table for part in parts])
    documents, document_places = one_table([part.row_document.table for part in parts])
    found = side_by_side([_cells(part) for part in parts], places, document_places, len(queries))
    assert found is not None
    rows = zip(
        queries[found.query].tolist(),
        documents[found.document].tolist(),
        *map(np.ndarray.tolist, found[2:]),
        strict=True,
    )
    assert list(rows) == merged(parts).to_frame().rows() == by_dictionary([counts], [kind])


@pytest.mark.parametrize(
    "second",
    [
        {(0, 5, 1): (1, 0)},  # a query of the first part
        {(1, 5, 2): (1, 0), (1, 5, 1): (1, 0)},  # positions out of order
        {(1, 6, 1): (1, 0), (1, 5, 1): (1, 0)},  # documents out of order
        {(1, 5, 1): (1, 0), (2, 5, 1): (1, 0), (1, 6, 1): (1, 0)},  # a query in two places
    ],
)
def test_what_only_a_sort_can_tell(second):
    parts = [{(0, 5, 1): (2, 1)}, second]
    made_parts = [made(counts) for counts in parts]
    queries, places = one_table([part.row_query.table for part in made_parts])
    _, document_places = one_table([part.row_document.table for part in made_parts])
    assert side_by_side([_cells(part) for part in made_parts], places, document_places, len(queries)) is None
    assert merged(made_parts).to_frame().rows() == by_dictionary(parts, ["numbers"] * 2)


@given(st.lists(st.tuples(cells, st.integers(0, 2**40)), min_size=1, max_size=3))
@example([({(1, 1, 1): (200, 200)}, 0), ({(1, 1, 1): (100, 100)}, 0)])  # the sum does not fit in a byte
def test_light_parts_sum_as_heavy_ones_do(given_parts):
    parts = [
        made({key: (shown + more, clicks) for key, (shown, clicks) in sorted(counts.items())})
        for counts, more in given_parts
    ]
    whole, found = merged(parts), merged([light(part) for part in parts])
    assert found.to_frame().equals(whole.to_frame())
    assert [one.dtype for one in _cells(found)] == [one.dtype for one in _cells(whole)] == list(KINDS)


def test_counts_that_are_no_whole_numbers_keep_their_kind():
    part = made({(0, 5, 1): (2, 1)})
    halves = Aggregate(
        part.row_query, part.row_document, part.position, part.impressions / 4, part.clicks / 4
    )
    assert merged([halves, made({(1, 5, 1): (1, 0)})]).impressions.tolist() == [0.5, 1.0]


def test_keys_too_long_for_one_number():
    """Query, document and position would not fit in 64 bits together: they are sorted as three."""
    last = 2**31 - 1
    columns = ([last, last, 0, last], [4, 4, 1, 4], [last, 1, last, last])
    cells = Cells(*(np.array(column, np.int32) for column in columns), np.array([1, 2, 3, 4]), np.arange(4))
    found = _cells(_summed(np.arange(5), np.arange(5), cells))
    assert [column.tolist() for column in found] == [
        [0, last, last], [1, 4, 4], [last, 1, last], [3, 2, 5], [2, 1, 3],
    ]  # fmt: skip


@given(
    st.lists(st.lists(st.integers(-5, 30), max_size=10), min_size=1, max_size=4),
    st.sampled_from(["numbers", "text"]),
)
def test_one_table_of_several(lists, kind):
    tables = [np.array(ids, np.int64).astype(SPELT[kind]) for ids in lists]
    table, places = one_table(tables)
    if len(lists) > 1:
        assert table.tolist() == sorted({id for one in tables for id in one.tolist()})
    for one, place in zip(tables, places, strict=True):
        assert place.dtype == np.int32
        assert table[place].tolist() == one.tolist()


def test_an_empty_table_does_not_make_text_of_numbers():
    nothing = np.empty(0, np.str_)
    joined = Coded.joined([Coded(nothing, np.empty(0, np.int32)), code(np.array([7, 3]))])
    assert joined.values.tolist() == [7, 3]
    empty = ClickLog([], np.empty(0, np.str_), [], [], [])
    assert (aggregate(empty) + aggregate(ClickLog([1], [7], ["d"], [1], [1]))).query.tolist() == [7]
