import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Analyser, Index, snippet
from rankloop.search.text.snippet import Snippets, spans_of

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
    snippets = Snippets(found.snapshot, found.leaves)
    assert snippets.of({"body": ""}) == ""
    assert {hit.id: hit.snippet for hit in found} == {
        1: snippet("shoes that are red and cheap", terms, ANALYSER),
        2: snippet("red shoes of three values", terms, ANALYSER),
    }
