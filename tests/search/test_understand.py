"""Misspelt and unfinished words: what the query is understood as, and that all else follows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import understood_words
from rankloop.rankers import FeatureSum
from rankloop.search import Analyser, Features, Index, Query
from rankloop.search.field import read_fields
from rankloop.search.index.expand import Expander
from rankloop.search.index.understand import MOST

SHOP = [
    ("Blue T-shirt", "cotton shirt, blue"),
    ("Blue headphones", "wireless headphones, over the ear"),
    ("Red headphones", "a wired headphone"),
    ("Blue cap", "keeps the head warm"),
    ("Blue bear", "toy"),
    ("Cold beer", "drink it cold"),
    ("Beer glass", "for beer"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    index = Index.create(tmp_path_factory.mktemp("understand") / "i", {"title": "text", "body": "text"})
    for number, (title, body) in enumerate(SHOP):
        index.add([{"id": number, "title": title, "body": body}])
        if number % 3 == 2:
            index.commit()  # several segments
    index.commit()
    return index


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("blue headphnes", "blue headphones"),
        ("Blue HEADPHNES", "Blue headphones"),
        ("blue headph*", "blue headphones"),
        ("blue headph headph*", "blue headphones"),  # an unfinished last word
        ("blue head head*", "blue head"),  # the index has it
        ("headphnes -red", "headphones -red"),
        ("+headphnes", "+headphones"),
        ("title:headphnes", "title:headphones"),
        ("cold baer", "cold beer"),  # bear and beer are one edit away: the other words decide
        ("blue baer", "blue bear"),
        ("baer", "beer"),  # in more documents
    ],
)
def test_a_query_is_understood(shop, typed, understood):
    found = shop.retriever(typos="missing")(typed)
    assert found.query.text == understood
    assert found.query.typed.text == typed
    assert found.query.understood == understood


def test_a_slip_that_changes_how_a_stem_is_cut_is_corrected(tmp_path):
    """ "wras" is its own stem and one edit from that of "erase"; "wars" has the stem "war"."""
    index = Index.create(tmp_path / "i", {"title": "text"})
    index.add([{"id": i, "title": f"Star Wars {i}"} for i in range(3)])
    index.add([{"id": 9, "title": "Erase the past"}])
    index.commit()
    understood = index.retriever(typos="missing").understood
    assert understood("star wras").text == "star wars"
    assert understood("wras").text == "wars"  # in more documents
    assert understood("warss").text == "wars"
    assert understood("erasee").text == "erase"


@pytest.mark.parametrize(
    "typed", ["blue headphones", "blue zzzzzz", '"blue headphnes"', "-headphnes", "blue the", "", "x1y2"]
)
def test_what_cannot_or_need_not_be_corrected_stays_as_typed(shop, typed):
    query = shop.retriever(typos="missing").understood(typed)
    assert query == Query.parse(typed, shop.fields)
    assert query.typed is None


def test_without_typos_words_are_completed_but_not_corrected(shop):
    assert shop.retriever().understood("headphnes").typed is None
    assert shop.retriever().understood("headph*").text == "headphones"


@pytest.mark.parametrize(
    "typed",
    [
        "blue headphnes",
        "cold baer",
        "baer -glass",
        "+headphnes blue",
        "title:headphnes",
        "blue headph headph*",
    ],
)
@pytest.mark.parametrize("match", ["any", "all"])
def test_a_misspelt_query_has_the_list_of_the_corrected_one(shop, typed, match):
    retrieve = shop.retriever(typos="missing", match=match)
    wrong = retrieve(typed)
    right = retrieve(wrong.query.understood)
    assert right.query.typed is None
    assert len(right) > 0
    assert wrong.ids.tolist() == right.ids.tolist()
    assert wrong.scores.tolist() == right.scores.tolist()
    assert wrong.leaves == right.leaves
    assert wrong.matches == right.matches
    assert retrieve.score(typed, right.ids).tolist() == right.scores.tolist()


def test_a_prefix_that_was_written_finds_all_words_that_it_begins(shop):
    """Its features are those of one word, its candidates are not."""
    found = shop.retriever()("b*")
    assert sorted(found.ids.tolist()) == [0, 1, 3, 4, 5, 6]  # blue, bear, beer
    assert found.query.text == "blue"
    assert found.query.finding.clauses == found.query.typed.clauses


def test_features_are_those_of_the_understood_query(shop):
    features = Features.standard(shop)
    retrieve = shop.retriever(typos="missing")
    right = retrieve("blue headphones")
    for typed in ("blue headphnes", "blue headph*", "blue headph headph*"):
        wrong = retrieve(typed)
        assert set(right.ids.tolist()) <= set(wrong.ids.tolist())
        known = retrieve.looked_up(typed, right.ids)  # as for training
        assert np.array_equal(features.matrix(known), features.matrix(right), equal_nan=True)
        place = [wrong.ids.tolist().index(id) for id in right.ids.tolist()]
        assert np.array_equal(features.matrix(wrong.take(place)), features.matrix(right), equal_nan=True)
        ranker = FeatureSum({"bm25(title)": 1.0}, features=["bm25(title)"])
        best = (retrieve >> Features(["bm25(title)"]) >> ranker)(typed)
        assert best.ids[0] == 1
        assert "<mark>headphones</mark>" in next(iter(best)).snippet


def test_an_understood_query_is_not_read_again(shop):
    """A second search with the query of the first finds the same, and corrects nothing further."""
    retrieve = shop.retriever(typos="missing")
    once = retrieve("blue headphnes")
    again = retrieve(once.query)
    assert again.query == once.query
    assert again.ids.tolist() == once.ids.tolist()
    assert again.scores.tolist() == once.scores.tolist()
    assert retrieve.explain(once.query, 1) == retrieve.explain("blue headphnes", 1)


def test_vectors_are_those_of_the_understood_query(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "look": "vector:2"})
    index.add(
        [{"id": 0, "title": "red shoes", "look": [1, 0]}, {"id": 1, "title": "blue hat", "look": [0, 1]}]
    )
    index.commit()
    asked = []

    def encode(text):
        asked.append(text)
        return [1.0, 0.0]

    index.retriever(typos="missing", vectors={"look": encode})("red shose")
    assert asked == ["red shoes"]


def test_fields_of_grams_correct_nothing(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"}, analyser=Analyser(grams=(3, 3)))
    index.add([{"id": 0, "title": "headphones"}])
    index.commit()
    assert index.retriever(typos="missing").understood("headphnes").typed is None


def test_many_misspelt_words_are_bounded(shop):
    query = shop.retriever(typos="missing").understood(" ".join(f"headph{a}nes" for a in "abcdefghijklm"))
    assert query.plain.split().count("headphones") == MOST


VOCABULARY = ["house", "horse", "mouse", "garden", "gardens", "river"]
WORD = st.one_of(st.sampled_from(VOCABULARY), st.text("aeghmorsuvdn", min_size=4, max_size=8))


def test_a_word_that_comes_again_is_read_once(shop, monkeypatch):
    """Each look at the vocabulary costs time, which a query of one word many times would multiply."""
    looked = []
    near = Expander.near
    monkeypatch.setattr(Expander, "near", lambda *given: looked.append(given[1:]) or near(*given))
    completed = []
    prefix = Expander.prefix
    monkeypatch.setattr(Expander, "prefix", lambda *given: completed.append(given[1:]) or prefix(*given))
    understood = shop.retriever(typos="missing").understood("headphnes " * 30 + "he* " * 30)
    assert understood.text == " ".join(["headphones"] * 30 + ["headphones"] * 30)
    assert len(looked) == len(set(looked)) == 2  # one in each field
    assert len(completed) == len(set(completed)) == 2


@given(
    st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(WORD, min_size=1, max_size=4),
)
def test_a_naive_reader_understands_the_same(tmp_path_factory, documents, words):
    index = Index.create(tmp_path_factory.mktemp("u") / "i", {"t": "text"}, analyser=Analyser(None))
    for number, text in enumerate(documents):
        index.add([{"id": number, "t": " ".join(text)}])
        if number % 2:
            index.commit()
    index.commit()
    query = index.retriever(typos="missing").understood(" ".join(words))
    found, options = query.plain.split(), understood_words(words, documents)
    assert len(found) == len(options)
    for word, allowed in zip(found, options, strict=True):
        assert word in allowed
    wrong, right = (index.retriever(typos="missing")(text) for text in (" ".join(words), query.text))
    assert wrong.ids.tolist() == right.ids.tolist()
    assert wrong.scores.tolist() == right.scores.tolist()


@given(st.text(alphabet='ab+-":* price><.1', max_size=30))
def test_a_clause_is_written_as_it_is_read(text):
    """What is logged, read again, has the same words."""
    known = read_fields({"a": "text", "price": "number"})
    query = Query.parse(text, known)
    written = " ".join(clause.written for clause in query.clauses)
    assert Query.parse(written, known).plain.split() == query.plain.split()
