"""Feedback: the relevance model in plain loops, what the second search finds, and what it keeps out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.search import BM25, Index, first, load_pipeline
from rankloop.search.bm25 import Leaf
from rankloop.search.rm3 import relevance_model, rm3

WORDS = ["ape", "bat", "cow", "dog", "elk", "fox"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=8)


def make(folder, contents):
    index = Index.create(folder / f"i{len(list(folder.iterdir()))}", {"title": "text", "body": "text"})
    half = len(contents) // 2
    for numbers in (range(half), range(half, len(contents))):  # two segments
        index.add({"id": i, "title": contents[i], "body": contents[i][::-1]} for i in numbers)
        index.commit()
    return index


def naive_model(contents, scores, terms, common):
    chances = Counter()
    for text, score in zip(contents, scores, strict=True):
        for word in text.split():
            chances[word] += score / sum(scores) / len(text.split())
    df = Counter(word for text in contents for word in set(text.split()))
    rare = {word: chance for word, chance in chances.items() if df[word] <= common * len(contents)}
    best = sorted(rare, key=lambda word: (-rare[word], word))[:terms]
    return {word: rare[word] / sum(rare[other] for other in best) for word in best}


@settings(max_examples=20)
@given(contents=texts, terms=st.integers(1, 6), common=st.sampled_from([0.3, 0.6, 1.0]))
def test_the_relevance_model_is_its_slow_twin(tmp_path_factory, contents, terms, common):
    index = make(tmp_path_factory.mktemp("r"), contents)
    snapshot = index.snapshot
    rows = np.array([snapshot.row(str(i)) for i in range(len(contents))])
    scores = np.arange(1.0, len(contents) + 1)
    made = relevance_model(snapshot, 0, rows, scores, 99, common)
    expected = naive_model(contents, scores.tolist(), 99, common)
    assert made == pytest.approx(expected)
    few = relevance_model(snapshot, 0, rows, scores, terms, common)
    assert len(few) == min(terms, len(expected))
    assert sum(few.values()) == pytest.approx(1) if few else not expected


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    contents = ["ape bat", "ape bat cow", "bat bat cow", "dog elk", "dog fox", "elk fox fox"]
    made = Index.create(tmp_path_factory.mktemp("r") / "i", {"title": "text", "genre": "keyword"})
    made.add({"id": i, "title": t, "genre": "wild" if i % 2 else "tame"} for i, t in enumerate(contents))
    made.commit()
    return made


def test_the_second_search_by_hand(index):
    """One document, "ape bat": both words have probability 1/2, so ape has 3/4 and bat 1/4 of the weight."""
    search = rm3(index.retriever(model=BM25()), documents=1, common=1.0)
    assert index.retriever(k=1)("ape").ids.tolist() == [0]
    found = search("ape")
    leaves = [Leaf(0, "ape", 0.75), Leaf(0, "bat", 0.25)]
    np.testing.assert_allclose(found.scores, BM25().score(index.snapshot, leaves, found.rows))
    assert set(found.ids.tolist()) == {0, 1, 2}  # 2 has bat, and not ape
    typed = rm3(index.retriever(), lambda_=1.0)("ape")
    plain = index.retriever()("ape")
    np.testing.assert_allclose(typed.scores, plain.scores)
    assert typed.ids.tolist() == plain.ids.tolist()


def test_filters_and_excluded_words_hold_for_the_second_search(index):
    options = {"documents": 1, "common": 1.0}
    assert rm3(index.retriever(filters={"genre": "tame"}), **options)("ape").ids.tolist() == [0, 2]
    assert 2 not in rm3(index.retriever(), **options)("ape -cow").ids
    assert rm3(index.retriever(match="all"), **options)("ape cow").ids.tolist() == [1]
    assert len(rm3(index.retriever())("zebra")) == 0
    assert len((rm3(index.retriever(), **options) >> first(1))("ape")) == 1


def test_common_words_are_not_learned(index):
    found = rm3(index.retriever(), documents=2, common=1 / 3)("ape")  # ape 2, bat 3, cow 2 of 6 documents
    assert set(found.ids.tolist()) == {0, 1, 2}
    leaves = [Leaf(0, "ape", 1.0)]
    assert not np.allclose(found.scores[:1], BM25().score(index.snapshot, leaves, found.rows[:1]))
    assert rm3(index.retriever(), common=0.01)("ape").ids.tolist() == [0, 1]  # nothing is left to learn


def test_wrong_settings_say_so(index, tmp_path):
    with pytest.raises(ValueError, match="rm3 takes"):
        rm3(first(3))
    with pytest.raises(ValueError, match="at least 1 document"):
        rm3(index.retriever(), documents=0)
    with pytest.raises(ValueError, match="lambda_ is 0 to 1"):
        rm3(index.retriever(), lambda_=2)
    dense = Index.create(tmp_path / "v", {"title": "text", "v": "vector:2"})
    with pytest.raises(ValueError, match="search by words"):
        rm3(dense.retriever(vectors={"v": None}))


def test_its_settings_are_saved_with_the_pipeline(index, tmp_path):
    search = rm3(
        index.retriever(k=4, model=BM25(k1=0.9)), documents=2, terms=3, lambda_=0.3, common=1.0
    ) >> first(3)
    search.save(tmp_path / "feedback")
    loaded = load_pipeline(tmp_path / "feedback", index)
    assert loaded.stages[0].settings == {"documents": 2, "terms": 3, "lambda_": 0.3, "common": 1.0}
    assert loaded.stages[0].retriever.model == BM25(k1=0.9)
    for query in ("ape", "dog fox", "nothing"):
        np.testing.assert_array_equal(loaded(query).ids, search(query).ids)
        np.testing.assert_array_equal(loaded(query).scores, search(query).scores)
    assert loaded.fingerprint == search.fingerprint
    other = rm3(index.retriever(k=4, model=BM25(k1=0.9)), documents=3) >> first(3)
    assert other.fingerprint != search.fingerprint
