"""Facets and histograms over an engine, without one: a list of documents answers as an engine does."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.engines.remote.counted import KNOWN, Spread, SpreadOf, Values, Within, count_remote, is_whole
from rankloop.engines.requests.opensearch_counts import aggregations, read_aggregations
from rankloop.engines.requests.solr_counts import facet_request, read_facets
from rankloop.search.index.counts import HIGHEST, Bin, bin_ends, histogram

whole = st.integers(-1000, 1000).map(float)
broken = st.floats(-1e6, 1e6, allow_nan=False).map(lambda one: round(one, 2))
shops = st.lists(
    st.fixed_dictionaries(
        {"brand": st.sampled_from("abc")}, optional={"price": whole | broken, "size": whole}
    ),
    max_size=40,
)
filters = st.fixed_dictionaries(
    {}, optional={"brand": st.lists(st.sampled_from("abc"), min_size=1), "price": st.just((-100.0, 100.0))}
)


class Shop:
    """An engine in plain loops; `asked` is what it was asked, with the filters."""

    def __init__(self, documents):
        self.documents, self.asked = documents, []

    def __call__(self, asked, filters):
        self.asked.append((tuple(asked), tuple(filters)))
        kept = [one for one in self.documents if all(passes(one, *by) for by in filters.items())]
        return [self.answer(one, [each[one.field] for each in kept if one.field in each]) for one in asked]

    def answer(self, one, values):
        if isinstance(one, Values):
            counts = {value: values.count(value) for value in sorted(set(values))}
            best = sorted(counts, key=lambda value: (-counts[value], value))
            return {value: counts[value] for value in best[: one.k]}
        if isinstance(one, Within):
            return [
                sum(low <= value <= (math.inf if high is None else high) for value in values)
                for low, high in one.ends
            ]
        if not values:
            return None
        high = sorted(values)[math.ceil(HIGHEST * (len(values) - 1))]
        return Spread(min(values), high, max(values), is_whole(sorted(set(values))))


def passes(document, field, wanted):
    if field not in document:
        return False
    if isinstance(wanted, tuple):
        return wanted[0] <= document[field] <= wanted[1]
    return document[field] in wanted


@given(shops, filters, st.integers(1, 12), st.booleans())
def test_it_is_the_definition(documents, filters, bins, own):
    shop = Shop(documents)
    found = count_remote(shop, ["brand"], ["price", "size"], k=2, bins=bins, filters=filters, own=own)
    for name in ("price", "size"):
        others = {field: wanted for field, wanted in filters.items() if own or field != name}
        kept = [one for one in documents if all(passes(one, *by) for by in others.items())]
        values = np.array([one[name] for one in kept if name in one], float)
        assert found.ranges[name] == histogram(values, bins)
    others = {field: wanted for field, wanted in filters.items() if own or field != "brand"}
    assert found.values == {"brand": Shop(documents)([Values("brand", 2)], others)[0]}


def test_fields_with_the_same_filters_share_requests():
    shop = Shop([{"brand": "a", "price": 1.5, "size": 3.0}, {"brand": "b", "price": 70.0, "size": 9.0}])
    found = count_remote(shop, ["brand"], ["price", "size"], bins=3)
    assert [len(asked) for asked, _ in shop.asked] == [1, 2, 2]
    assert found.ranges["size"] == [Bin(0.0, 4.0, 1), Bin(5.0, 9.0, 1)]
    shop.asked.clear()
    count_remote(shop, ["brand"], ["price", "size"], filters={"price": (0, 100)})
    assert {by for _, by in shop.asked} == {("price",), ()}
    assert count_remote(shop, (), ()).ranges == {}


def test_numbers_that_an_engine_cannot_count_have_no_histogram():
    def refusing(asked, filters):
        if any(not isinstance(one, Values) for one in asked):
            raise ValueError("the field has no columns")
        return [{"a": 1}]

    assert count_remote(refusing, ["brand"], ["price"]) == ({"brand": {"a": 1}}, {"price": []})


def test_many_different_numbers_may_have_digits():
    assert not is_whole(range(KNOWN + 1))
    assert is_whole(range(KNOWN))
    assert (
        bin_ends(0.0, 100.0, 100.0, 4, whole=False)[0][1] == bin_ends(0.0, 100.0, 100.0, 4, whole=False)[1][0]
    )
    assert bin_ends(5.0, 5.0, 5.0, 4, whole=True) == []


ASKED = [Values("brand", 3), SpreadOf("price"), Within("price", ((0.0, 9.0), (10.0, None)))]


def test_what_opensearch_is_asked_and_says():
    request = aggregations(ASKED)
    assert request["0"]["terms"]["size"] == 3
    assert request["2"]["filters"]["filters"]["1"] == {"range": {"price": {"gte": 10.0}}}
    answer = {
        "0": {"buckets": [{"key": 1, "key_as_string": "true", "doc_count": 4}]},
        "1": {"count": 5, "min": 1.0, "max": 30.0},
        "1_high": {"values": [{"key": 99.0, "value": 29.5}]},
        "1_some": {"buckets": [{"key": 1.0, "doc_count": 2}, {"key": 30.0, "doc_count": 3}]},
        "2": {"buckets": {"0": {"doc_count": 2}, "1": {"doc_count": 3}}},
    }
    assert read_aggregations(ASKED, answer) == [{"true": 4}, Spread(1.0, 29.5, 30.0, True), [2, 3]]
    nothing = answer | {"1": {"count": 0, "min": None, "max": None}}
    assert read_aggregations(ASKED, nothing)[1] is None


def test_what_solr_is_asked_and_says():
    request = facet_request(ASKED)
    assert request["high1"] == "percentile(price,99)"
    assert [request[f"a2_{n}"]["q"] for n in range(2)] == ["price:[0.0 TO 9.0]", "price:[10.0 TO *]"]
    answer = {
        "count": 5,
        "a0": {"buckets": [{"val": True, "count": 4}]},
        "low1": 1.0,
        "high1": 29.5,
        "top1": 30.0,
        "a1": {"buckets": [{"val": 1.5, "count": 5}]},
        "a2_0": {"count": 2},
        "a2_1": {"count": 3},
    }
    assert read_facets(ASKED, answer) == [{"True": 4}, Spread(1.0, 29.5, 30.0, False), [2, 3]]
    assert read_facets(ASKED, {"count": 0}) == [{}, None, [0, 0]]


@pytest.mark.parametrize("text", ["9a", "abc", "or", "not", "x y"])
def test_what_solr_takes_as_a_word_like_others_is_only_letters(text):
    from rankloop.engines.requests.solr_query import SolrWriter
    from rankloop.search import Analyser, Field, Query

    query = Query.of_words(f"{text} headphnes")
    misspelt = frozenset(query.plain.split())
    written, _ = SolrWriter({"title": Field("text")}, Analyser(), {"title": 1.0}, "any", misspelt).write(
        query
    )
    near = [one["lucene"]["query"] for one in written["bool"]["should"] if "lucene" in one]
    assert near == ["headphn~1", "headphnes~2"]
