import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Index, Query
from rankloop.search.field import read_fields
from rankloop.search.text.query import span_of

FIELDS = read_fields({"title": "text", "genre": "keyword", "price": "number", "day": "date"})


def pieces(text):
    return [(c.kind, c.text, c.field, c.excluded) for c in Query.parse(text, FIELDS).clauses]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("", []),
        (" \t\n", []),
        ('"', []),
        ("-", [("word", "-", None, False)]),
        ("red shoes", [("word", "red", None, False), ("word", "shoes", None, False)]),
        ('"red shoes', [("phrase", "red shoes", None, False)]),
        ('-"red shoes"', [("phrase", "red shoes", None, True)]),
        ("spider-man", [("word", "spider-man", None, False)]),
        ("run*", [("prefix", "run", None, False)]),
        ("*", [("word", "*", None, False)]),
        ("title:run*", [("prefix", "run", "title", False)]),
        ('title:"red shoes"', [("phrase", "red shoes", "title", False)]),
        ('genre:"Science Fiction"', [("value", "Science Fiction", "genre", False)]),
        ("-genre:drama", [("value", "drama", "genre", True)]),
        ("mission:impossible", [("word", "mission:impossible", None, False)]),
        ("http://example.org", [("word", "http://example.org", None, False)]),
        ("price:10..20", [("range", "10..20", "price", False)]),
        ("price:cheap", [("word", "price cheap", None, False)]),
        ("title:", [("word", "title:", None, False)]),
    ],
)
def test_pieces(text, clauses):
    assert pieces(text) == clauses


@pytest.mark.parametrize(
    ("kind", "text", "span"),
    [
        ("number", "3", (3, 3)),
        ("number", "-3..4.5", (-3, 4.5)),
        ("number", "3..", (3, math.inf)),
        ("number", ">3", (math.nextafter(3, 4), math.inf)),
        ("number", "<=3", (-math.inf, 3)),
        ("number", "nan", None),
        ("number", "1..2..3", None),
        ("date", "1970", (0, math.nextafter(365 * 86400, 0))),
        ("date", "1970-12", (334 * 86400, math.nextafter(365 * 86400, 0))),
        ("date", "1970-01-02", (86400, math.nextafter(2 * 86400, 0))),
        ("date", "<1970-01-02", (-math.inf, math.nextafter(86400, 0))),
        ("date", "1970-01-01T00:00:05Z", (5, 5)),
        ("date", "1970-13", None),
        ("date", "9999", None),
        ("date", "soon", None),
    ],
)
def test_spans(kind, text, span):
    assert span_of(kind, text) == span


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = Index.create(
        tmp_path_factory.mktemp("query") / "i",
        {"title": "text", "body": "text", "genre": "keyword", "price": "number", "day": "date"},
    )
    index.add(
        [
            {"id": "a", "title": "Red running shoes", "genre": "Shoes", "price": 80, "day": "2023-05-01"},
            {"id": "b", "title": "Running in red shoes", "genre": "Books", "price": 10, "day": "2024-02-29"},
            {"id": "c", "title": "Blue shoes", "body": "not red, but for runners", "price": 50},
            {"id": "d", "title": ["the end", "of the world"], "genre": ["Books", "old stuff"]},
        ]
    )
    index.commit()
    return index


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('"red shoes"', "b"),
        ('"running shoes"', "a"),
        ('"running in red"', "b"),
        ('"running red"', ""),
        ('"end world"', ""),
        ('"end of the world"', ""),
        ('"the end"', "d"),
        ("shoes -blue", "ab"),
        ("red -genre:books", "ac"),
        ("red -title:red", "c"),
        ("genre:BOOKS", "bd"),
        ('genre:"old stuff"', "d"),
        ("shoes price:>=50", "ac"),
        ("price:10..50", "bc"),
        ("-price:10..50", "ad"),
        ("day:2024", "b"),
        ("day:..2023-12 shoes", "a"),
        ("run*", "abc"),
        ("title:run*", "ab"),
        ("blu* worl*", "cd"),
        ("title:blue", "c"),
        ("+blue shoes", "c"),
        ("-shoes", "d"),
        ("the", ""),
        ('"the"', ""),
        ("nowhere", ""),
        ("", ""),
    ],
)
def test_what_is_found(index, text, ids):
    assert sorted(index.retriever()(text).ids.tolist()) == list(ids)


def test_all_words_and_typos(index):
    assert sorted(index.retriever(match="all")("red shoes running").ids.tolist()) == ["a", "b"]
    assert index.retriever(match="all")("red shoes price:10").ids.tolist() == ["b"]
    assert index.retriever()("runnign").ids.tolist() == []
    forgiving = index.retriever(typos="missing")
    assert sorted(forgiving("wrold").ids.tolist()) == ["d"]
    assert sorted(index.retriever(typos="missing", match="all")("wrold ende").ids.tolist()) == ["d"]
    assert sorted(index.retriever(typos="always")("shoe").ids.tolist()) == ["a", "b", "c"]


@given(st.text(alphabet=st.characters() | st.sampled_from('"-+:*.<> '), max_size=40))
def test_parsing_and_searching_never_fail(index, text):
    assert isinstance(Query.parse(text, FIELDS), Query)
    found = index.retriever(typos="missing")(text)
    assert len(found) <= len(index)


def test_wrong_queries_say_so(index):
    with pytest.raises(ValueError, match="a query is text or a Query, got int"):
        index.retriever()(3)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"match": "some"},
        {"typos": "yes"},
        {"fusion": "sum"},
        {"vectors": {"title": len}},
        {"words": False},
        {"weights": {"vectors": 1}},
    ],
)
def test_wrong_options_say_so(index, options):
    with pytest.raises(ValueError):
        index.retriever(**options)
