"""Odd documents: refused with a sentence that names them, or found again unchanged."""

import gzip
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop.search.index.limits
from rankloop.rankers import FeatureSum
from rankloop.search import Features, Field, Index, read_documents
from rankloop.serve.answer import as_filters
from rankloop.serve.http.schema import Range

FIELDS = {
    "title": "text",
    "tag": "keyword",
    "price": "number",
    "day": "date",
    "place": Field("vector", dimension=2),
    "dot": Field("vector", dimension=2, similarity="dot"),
}

IDS = st.one_of(
    st.integers(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=12),
    st.builds(lambda: 10**5000),  # Python does not write a number of so many digits, nor may Hypothesis
    st.sampled_from(
        [
            99999999999999999999,
            -(2**63),
            2**63,
            "a\0",
            "\0",
            "\ud800",
            "x" * 501,
            "x" * 500,
            True,
            1.5,
            None,
            b"a",
            " ",
            "١٢",
            "1_0",
            np.int8(3),
            "9" * 5000,
        ]
    ),
)
NUMBERS = st.one_of(
    st.floats(),
    st.integers(),
    st.decimals(),
    st.fractions(),
    st.sampled_from([10**400, 1e300, 3.5e38, 3.4e38, Decimal("1e999"), Fraction(10**400), True, "3"]),
)
DATES = st.one_of(
    st.datetimes(),
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=23)), timezone(-timedelta(hours=23))])
    ),
    st.dates(),
    st.sampled_from(["9999-12-31T23:59:59.999999", "0001-01-01T00:00:00+23:59", "NaT", "", "10000-01-01", 5]),
)
VECTORS = st.one_of(
    st.lists(st.floats(width=32), min_size=0, max_size=3),
    st.sampled_from([[1e38, 1e38], [1e300, 0], [10**400, 1], "ab", [[1], [2]], [0.0, 0.0], [1e-45, 0]]),
)
TEXTS = st.one_of(st.text(max_size=30), st.lists(st.text(max_size=5), max_size=3), st.integers())
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
DOCUMENTS = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "title": TEXTS,
        "tag": st.one_of(TEXTS, st.booleans()),
        "price": NUMBERS,
        "day": DATES,
        "place": VECTORS,
        "dot": VECTORS,
        "more": JSON,
    },
)


@settings(max_examples=150, deadline=None)
@given(documents=st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_a_document_is_refused_or_found_again_unchanged(tmp_path_factory, documents):
    index = Index.create(tmp_path_factory.mktemp("odd") / "i", FIELDS)
    taken, refused = {}, []
    for document in documents:
        try:
            index.add([document])
        except ValueError as error:
            refused.append(str(error))
        else:
            taken[str(int(document["id"]) if _counts(index) else document["id"])] = document
    assert all(one.endswith("(document 1 of those given)") and len(one) < 500 for one in refused)
    index.commit()
    index.close()
    again = Index.open(index.path)
    assert sorted(map(str, again.ids.tolist())) == sorted(taken)
    if taken:
        features = Features.standard(again)
        search = (
            again.retriever(k=10) >> features >> FeatureSum({"value(price)": 1.0}, features=features.names)
        )
        words = [word for one in taken.values() for word in str(one.get("title", "")).split()]
        found = search(" ".join(words) or "x")
        assert np.isfinite(found.scores[~np.isnan(found.scores)]).all()
        assert not np.isinf(found.columns["features"]).any() if len(found) else True
    for id, document in taken.items():
        stored = again[id]
        for name in ("id", "title", "more"):
            if document.get(name) is not None:
                wanted = document[name]
                assert stored[name] == (int(wanted) if isinstance(wanted, np.integer) else wanted)


def _counts(index):
    return index._writer.id_kind == "int"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"id": 99999999999999999999}, "an id that is a number has 64 bits .* got 99999999999999999999"),
        ({"id": "a\0"}, r"no zero character and no half of a surrogate pair, got 'a\\x00'"),
        ({"id": "\ud800"}, "no half of a surrogate pair"),
        ({"id": "x" * 501}, "at most 500 characters, got 501"),
        ({"id": "d", "title": "x" * 10_001}, "document 'd', field 'title': wanted words of at most 10000"),
        ({"id": "d", "price": 10**400}, "document 'd', field 'price': wanted a finite number"),
        ({"id": "d", "price": 1e300}, "document 'd', field 'price': wanted a finite number up to 3.4e"),
        (
            {"id": "d", "price": math.nan},
            "document 'd', field 'price': wanted a finite number, got float nan",
        ),
        ({"id": "d", "price": 1j}, "document 'd', field 'price': wanted a finite number, got complex"),
        (
            {"id": "d", "day": "0001-01-01T00:00:00+23:00"},
            "document 'd', field 'day': wanted a date from the year 1",
        ),
        ({"id": "d", "tag": "x" * 10_001}, "document 'd', field 'tag': wanted a keyword of at most"),
        ({"id": "d", "dot": [1e30, 0]}, "document 'd', field 'dot': wanted a vector of at most the length"),
        (
            {"id": "d", 5: "x"},
            "document 'd' cannot be stored as JSON: names in a document are text, got int 5",
        ),
        (
            {"id": "d", "more": {str(i): 0 for i in range(3)}} | {f"n{i}": 0 for i in range(10_001)},
            "10000 names",
        ),
    ],
)
def test_the_limit_is_named(tmp_path, document, message):
    index = Index.create(tmp_path / "i", FIELDS)
    with pytest.raises(ValueError, match=message):
        index.add([document])
    index.add([{"id": "good", "title": "red"}])
    index.commit()
    assert Index.open(tmp_path / "i").retriever()("red").ids.tolist() == ["good"]


def test_nesting_and_size_are_bounded(tmp_path, monkeypatch):
    index = Index.create(tmp_path / "i", FIELDS)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match=r"'d' cannot be stored as JSON: .* at most 100 deep"):
        index.add([{"id": "d", "more": deep}])
    while deep:  # or the interpreter frees it by recursion
        deep = deep[0]
    monkeypatch.setattr(rankloop.search.index.limits, "LARGEST_DOCUMENT", 1 << 20)
    with pytest.raises(ValueError, match="at most 1 MB as JSON"):
        index.add([{"id": "d", "more": "x" * (1 << 20)}])
    monkeypatch.setattr(rankloop.search.index.limits, "_LAST_POSITION", 300)
    with pytest.raises(ValueError, match="field 'title': wanted fewer words"):
        index.add([{"id": "d", "title": ["a", "b", "c"]}])


def test_a_refused_first_document_does_not_decide_the_kind_of_ids(tmp_path):
    index = Index.create(tmp_path / "i", FIELDS)
    with pytest.raises(ValueError, match="finite number"):
        index.add([{"id": 1, "price": math.inf}])
    index.add([{"id": "a", "title": "red"}])
    index.commit()
    assert index.ids.tolist() == ["a"]


def test_too_many_fields(tmp_path):
    with pytest.raises(ValueError, match="at most 1000 fields, got 1001"):
        Index.create(tmp_path / "i", {f"f{i}": "keyword" for i in range(1001)})


def test_one_bad_line_is_one_skipped_line(tmp_path):
    lines = [
        b'{"id": 1, "title": "red"}',
        b'{"id": 2, "title": "\xff\xfe"}',
        b'{"id": 3, ',
        b'{"id": 4, "title": ' + b"[" * 100_000,
        b'{"id": 5, "price": ' + b"9" * 10_000 + b"}",
        b"[1]",
        b"7",
        b'{"id": 99999999999999999999}',
        b'{"id": 6, "title": "red"}',
    ]
    path = tmp_path / "some.jsonl"
    path.write_bytes(b"\n".join(lines))
    index = Index.create(tmp_path / "i", FIELDS)
    added = index.add(read_documents(path), on_error="skip")
    assert added.documents == 2
    assert [one.number for one in added.skipped] == [1, 2, 3, 4, 5, 6, 7]
    assert added.skipped[0].reason.startswith("some.jsonl, line 2: not UTF-8 text; give its encoding")
    index.commit()
    assert index.retriever()("red").ids.tolist() == [1, 6]


def test_one_bad_line_of_a_table_is_one_skipped_line(tmp_path):
    path = tmp_path / "some.csv"
    path.write_bytes(b"id,title\na,red\nb,\xff\xfe\nc," + b"x" * 200_000 + b"\nd,red\n")
    index = Index.create(tmp_path / "i", FIELDS)
    added = index.add(read_documents(path), on_error="skip")
    assert added.documents == 2
    assert ["not UTF-8" in one.reason or "10000 letters" in one.reason for one in added.skipped] == [True] * 2


def test_a_cut_archive_of_documents_is_a_sentence(tmp_path):
    path = tmp_path / "some.jsonl.gz"
    whole = gzip.compress(b"\n".join(json.dumps({"id": i, "title": "red"}).encode() for i in range(5000)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"some\.jsonl\.gz is damaged or cut short"):
        list(read_documents(path))


def test_dates_at_the_end_of_time_are_a_sentence(tmp_path):
    index = Index.create(tmp_path / "i", FIELDS)
    for text in ("9999-12-31", "9999-12-31T23:59:59Z"):
        as_filters({"day": Range(min=text)}, index.fields)
    for text in (">9999-12-31", "9999", "9999-12", "0000-01-01"):
        with pytest.raises(ValueError, match="date"):
            as_filters({"day": text}, index.fields)
    assert datetime.max.year == 9999
