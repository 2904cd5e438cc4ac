"""Counts of values and histograms of numbers over what a search finds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Index
from rankloop.search.index.counts import histogram

NUMBERS = st.one_of(
    st.integers(-1000, 100_000).map(float), st.floats(-1e6, 1e6).map(lambda one: round(one, 2))
)


@given(st.lists(NUMBERS, max_size=60), st.integers(2, 20))
def test_a_bin_counts_what_its_range_finds(values, bins):
    found = histogram(np.array([*values, math.nan]), bins)
    assert len(found) <= bins
    assert bool(found) == (len(set(values)) > 1)
    for one in found:
        high = math.inf if one.high is None else one.high
        assert one.documents == sum(one.low <= value <= high for value in values) > 0
        assert float(f"{one.low!r}") == one.low
    if found:
        assert sum(one.documents for one in found) >= len(values), "every document is in a bin"
    if all(value == int(value) for value in values):
        assert sum(one.documents for one in found) in (0, len(values)), "whole numbers are in one"
        assert all(one.low == int(one.low) for one in found)
    assert [one.low for one in found] == sorted({one.low for one in found})
    assert all(one.high is not None for one in found[:-1])


def test_one_large_value_leaves_the_others_apart():
    values = np.concatenate([np.arange(1000.0), [1e9]])
    found = histogram(values, 12)
    assert len(found) == 10
    assert (found[0].low, found[0].high, found[0].documents) == (0, 99, 100)
    assert (found[-1].low, found[-1].high, found[-1].documents) == (900, None, 101)


@pytest.mark.parametrize(
    "values",
    [[], [5.0], [5.0, 5.0], [math.nan], [math.inf, math.inf], [3.0, math.inf, math.nan], [0.0, 5e-324]],
)
def test_nothing_to_divide(values):
    assert histogram(np.array(values), 10) == []


def test_few_whole_numbers_have_a_bin_each():
    assert histogram(np.array([0.0, 1.0, 1.0]), 12) == [(0, 0, 1), (1, 1, 2)]
    assert histogram(np.array([1.0, 2.0, 4.0]), 20) == [(1, 1, 1), (2, 2, 1), (4, 4, 1)]


@pytest.mark.parametrize("values", [[1e300, 2e300], [1e-9, 2e-9], [-1e15, 1e15 + 1], [1e9, 1e9 + 1.5]])
def test_sizes_at_the_ends(values):
    assert sum(one.documents for one in histogram(np.array(values), 12)) >= 2


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    fields = {"title": "text", "brand": "keyword", "kind": "keyword", "price": "number"}
    index = Index.create(tmp_path_factory.mktemp("counts") / "i", fields)
    for number in range(40):
        brand, kind = ("Hare", "Fox", "Owl")[number % 3], ("shoe", "hat")[number % 2]
        index.add([{"id": number, "title": f"red {kind}", "brand": brand, "kind": kind, "price": number}])
        if number % 15 == 14:
            index.commit()
    index.commit()
    return index


def test_counts_are_those_of_each_facet_without_its_own_filter(shop):
    filters = {"brand": ["Hare"], "price": (0, 29)}
    found = shop.counts("red", ["brand", "kind"], ["price"], filters=filters, bins=4)
    assert found.values["brand"] == shop.facets("red", "brand", filters={"price": (0, 29)})
    assert found.values["kind"] == shop.facets("red", "kind", filters=filters)
    assert sum(found.values["brand"].values()) == 30
    assert shop.facets("red", "brand", filters=filters) == {"Hare": 10}, "all filters count there"
    assert [(one.low, one.high, one.documents) for one in found.ranges["price"]] == [
        (0, 9, 4),
        (10, 19, 3),
        (20, 29, 3),
        (30, 39, 4),
    ]


def test_counts_follow_the_correction(shop):
    right, wrong = (shop.counts(text, ["kind"], ["price"], typos="missing") for text in ("shoe", "shoez"))
    assert right == wrong
    assert right.values == {"kind": {"shoe": 20}}


def test_counts_of_what_cannot_be_counted(shop):
    with pytest.raises(ValueError, match="unknown number field 'brand'"):
        shop.counts("red", [], ["brand"])
    with pytest.raises(ValueError, match="unknown keyword field 'price'"):
        shop.counts("red", ["price"])
