from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from rankloop.search import Analyser, Field
from rankloop.search.field import read_fields, seconds


def test_declarations():
    fields = read_fields(
        {"title": "text", "tags": "keyword", "v": "vector:4", "g": Field("text", source="title")}
    )
    assert [field.kind for field in fields.values()] == ["text", "keyword", "vector", "text"]
    assert all(Field.from_dict(field.to_dict()) == field for field in fields.values())
    own = Field("text", analyser=Analyser(grams=(3, 3)))
    assert Field.from_dict(own.to_dict()) == own


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "at least one field"),
        ({"title": "txt"}, "did you mean 'text'"),
        ({"v": "vector"}, "needs its dimension"),
        ({"v": "vector:x"}, "whole number"),
        ({"title": "text:3"}, "no other has one"),
        ({"id": "text"}, "not 'id'"),
        ({"../x": "text"}, "named by letters"),
        ({"a b": "text"}, "named by letters"),
        ({"a": 3}, "declared by a kind"),
        ({"a": Field("text", source="b")}, "another text field"),
    ],
)
def test_wrong_declarations_say_so(fields, message):
    with pytest.raises(ValueError, match=message):
        read_fields(fields)


def test_only_text_has_an_analyser():
    with pytest.raises(ValueError, match="only text fields"):
        Field("number", analyser=Analyser())


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        ("text", "a", ["a"]),
        ("text", ["a", "b"], ["a", "b"]),
        ("keyword", True, ["true"]),
        ("keyword", ["b", "a", "b", 3], ["b", "a", "3"]),
        ("number", np.float32(2.5), 2.5),
        ("number", 3, 3.0),
        ("number", Decimal("2.5"), 2.5),
        ("date", "1970-01-01T00:01:00Z", 60.0),
        ("date", date(1970, 1, 2), 86400.0),
        ("date", datetime(1970, 1, 1, 1, tzinfo=UTC), 3600.0),
        ("date", np.datetime64("1970-01-02"), 86400.0),
    ],
)
def test_values(kind, value, converted):
    assert Field(kind).convert(value) == converted


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", 5),
        ("text", ["a", 5]),
        ("keyword", 1.5),
        ("keyword", {"a": 1}),
        ("number", "5"),
        ("number", True),
        ("number", float("nan")),
        ("date", "yesterday"),
        ("date", 12),
        ("vector:2", [1.0]),
        ("vector:2", [1.0, float("inf")]),
        ("vector:2", "ab"),
    ],
)
def test_wrong_values_say_what_came(kind, value):
    with pytest.raises(ValueError, match="got"):
        read_fields({"f": kind})["f"].convert(value)


def test_cosine_vectors_are_unit_vectors():
    assert np.allclose(Field("vector", dimension=2).convert([3, 4]), [0.6, 0.8])
    assert np.allclose(Field("vector", dimension=2, similarity="dot").convert([3, 4]), [3, 4])
    assert Field("vector", dimension=2).convert([0, 0]).tolist() == [0, 0]


def test_seconds_without_zone_are_utc():
    assert seconds("2024-05-01T12:00:00") == seconds("2024-05-01T14:00:00+02:00")
