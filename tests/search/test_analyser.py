import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Analyser


def test_words_are_normalised_folded_stemmed_and_stopped():
    terms = Analyser().terms("The ＣＡＦÉS of Ｎaïve co-operating ﬁshermen's boats_2")
    assert terms == ["cafe", "naiv", "co", "oper", "fishermen", "boat", "2"]


def test_without_language_words_stay():
    assert Analyser(None, fold=False).terms("The Éclairs") == ["the", "éclairs"]
    assert Analyser(None).terms("The Éclairs") == ["the", "eclairs"]


def test_own_stop_words_and_none():
    assert Analyser(None, stop_words=("full", "movie")).terms("full movie alien") == ["alien"]
    assert Analyser(stop_words=False).terms("to be") == ["to", "be"]


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("german", "Die Häuser", ["haus"]),
        ("french", "l'avion les avions", ["avion", "avion"]),
        ("spanish", "las canciones", ["cancion"]),
        ("italian", "le canzoni", ["canzon"]),
        ("portuguese", "as canções", ["canco"]),
        ("dutch", "de huizen", ["huis"]),
    ],
)
def test_languages(language, text, terms):
    assert Analyser(language).terms(text) == terms


def test_scripts_without_blanks_and_with_marks():
    assert Analyser().terms("東京タワー abc") == ["東", "京", "タ", "ワ", "ー", "abc"]
    assert Analyser(None, fold=False).terms("हिन्दी में") == ["हिन्दी", "में"]


def test_prefixes_and_grams():
    assert Analyser(None, prefixes=(2, 3)).terms("house") == ["house", "ho", "hou"]
    assert Analyser(grams=(2, 3)).terms("a bc") == ["ab", "bc", "abc"]
    assert Analyser(grams=(3, 3)).terms("x") == ["x"]
    assert Analyser(grams=(3, 3)).terms("") == []


@pytest.mark.parametrize("bad", [{"language": "klingon"}, {"grams": (0, 2)}, {"prefixes": (3, 2)}])
def test_wrong_parameters_say_so(bad):
    with pytest.raises(ValueError):
        Analyser(**bad)
    with pytest.raises(ValueError, match="not both"):
        Analyser(prefixes=(1, 2), grams=(1, 2))


ANALYSERS = st.sampled_from(
    [
        Analyser(),
        Analyser(None),
        Analyser("german", fold=False),
        Analyser(prefixes=(1, 4)),
        Analyser(grams=(2, 4)),
    ]
)


@given(ANALYSERS, st.text(max_size=60))
def test_any_text_gives_the_same_terms_again_after_a_round_trip(analyser, text):
    again = Analyser.from_dict(analyser.to_dict())
    assert again == analyser
    assert again.terms(text) == analyser.terms(text)
    assert all(term and " " not in term for term in analyser.terms(text))


@given(st.text(max_size=60))
def test_spans_hold_the_terms_of_the_text(text):
    analyser = Analyser(None, fold=False)
    spans = analyser.spans(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    if text.isascii():
        assert [term for span in spans for term in span.terms] == analyser.terms(text)


def test_words_of_many_queries_are_not_kept():
    analyser = Analyser()
    analyser.terms("warm")
    tracemalloc.start()
    for at in range(5_000):
        analyser.terms(f"running{at}")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 50_000
