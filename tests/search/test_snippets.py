import re
from html import unescape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.search import Analyser, Index, snippet
from rankloop.search.index.word_places import word_places
from rankloop.search.text.snippet import MOST_MATCHES, Snippets, spans_of

ANALYSER = Analyser()


def test_the_window_with_most_different_terms_wins():
    text = "fox " * 5 + "and " * 40 + "a red fox runs. " + "end " * 40
    shown = snippet(text, {"red", "fox", "run"}, ANALYSER, words=8)
    assert "<mark>red</mark> <mark>fox</mark> <mark>runs</mark>." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_markup_in_a_document_is_text():
    shown = snippet("<script>alert('fox')</script> & more", {"fox"}, ANALYSER)
    assert shown == "&lt;script&gt;alert(&#x27;<mark>fox</mark>&#x27;)&lt;/script&gt; &amp; more"


def test_without_words_or_matches():
    assert snippet("", {"fox"}, ANALYSER) == ""
    assert snippet("<>!", {"fox"}, ANALYSER) == "&lt;&gt;!"
    assert snippet("one two three", set(), ANALYSER, words=2) == "one two …"
    with pytest.raises(ValueError, match="at least 1 word"):
        snippet("x", {"x"}, ANALYSER, words=0)


@given(st.text(max_size=80), st.integers(1, 6))
def test_a_snippet_is_a_piece_of_the_text_and_safe(text, words):
    shown = snippet(text, set(ANALYSER.terms(text)[:2]), ANALYSER, words=words)
    bare = re.sub("</?mark>", "", shown)
    assert not re.search("[<>]", bare)
    assert unescape(bare).removeprefix("… ").removesuffix(" …").strip() in text


@given(st.text("ab <>&é9_'-", max_size=80))
def test_the_cache_of_words_changes_nothing(text):
    assert list(spans_of(text, ANALYSER)) == ANALYSER.spans(text)
    assert list(spans_of(text, ANALYSER)) == ANALYSER.spans(text)


def test_snippets_come_from_the_longest_text(tmp_path):
    index = Index.create(tmp_path / "index", {"title": "text", "body": "text", "brand": "keyword"})
    index.add(
        [
            {
                "id": 1,
                "title": "red shoes",
                "body": "shoes that are red and cheap",
                "brand": "a long brand name " * 9,
            },
            {"id": 2, "title": ["red", "shoes", "of three values"], "body": "red"},
            {"id": 3, "body": ""},
        ]
    )
    index.commit()
    found = index.retriever(k=10)("red shoes")
    terms = set(ANALYSER.terms("red shoes"))
    snippets = Snippets(found.snapshot, found.leaves, found.rows)
    assert snippets.of(2, {"body": ""}) == ""
    assert {hit.id: hit.snippet for hit in found} == {
        1: snippet("shoes that are red and cheap", terms, ANALYSER),
        2: snippet("red shoes of three values", terms, ANALYSER),
    }


LETTERS = "".join(["ab", "AB", "9", " ", "  ", " -,.<&", "é", "ﬁ", "中", "_", "\n"])
TEXTS = st.one_of(st.text("abAB9 -.", max_size=90), st.text(LETTERS, max_size=60))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=4),
    st.lists(st.text("ab9é", min_size=1, max_size=3), max_size=4),
    st.sampled_from([ANALYSER, Analyser(None, prefixes=(1, 2)), Analyser(None, grams=(2, 2))]),
)
def test_a_snippet_by_the_index_is_that_by_the_text(tmp_path_factory, bodies, words, analyser):
    index = Index.create(tmp_path_factory.mktemp("index"), {"body": "text"}, analyser=analyser)
    index.add({"id": at, "body": body} for at, body in enumerate(bodies))
    index.commit()
    found = index.retriever(k=10)(" ".join(words))
    terms = {leaf.term for leaf in found.leaves}
    for hit, row in zip(found, found.rows.tolist(), strict=True):
        body = bodies[row]
        text = " ".join(body) if isinstance(body, list) else body
        assert hit.snippet == snippet(text, terms, analyser)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), max_size=30), st.sets(st.sampled_from("abcxyz")), st.integers(1, 9)
)
def test_places_of_words_are_those_of_the_text(tmp_path_factory, words, wanted, most):
    index = Index.create(tmp_path_factory.mktemp("index"), {"body": "text"}, analyser=Analyser(None))
    index.add([{"id": 0, "body": "c a"}, {"id": 1, "body": " ".join(words)}, {"id": 2, "body": "x y z"}])
    index.commit()
    (segment,) = index.snapshot.segments
    numbers = np.array(sorted({segment.term(one) for one in wanted} - {-1}), np.int64)
    places, which = word_places(segment.forward, 1, numbers, most)
    expected = [(at, word) for at, word in enumerate(words) if word in wanted][:most]
    assert [
        (at, segment.term_text(int(numbers[one]))) for at, one in zip(places, which, strict=True)
    ] == expected


def test_the_first_matches_of_a_long_text_are_looked_at(tmp_path):
    index = Index.create(tmp_path / "index", {"body": "text"}, analyser=Analyser(None))
    text = "a " * (2 * MOST_MATCHES) + "a b"
    index.add([{"id": 1, "body": text}])
    index.commit()
    (hit,) = index.retriever()("a b")
    assert (
        hit.snippet == snippet(text, {"a", "b"}, Analyser(None)) == " ".join(["<mark>a</mark>"] * 30) + " …"
    )
