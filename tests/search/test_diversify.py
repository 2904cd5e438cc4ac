"""Diversity: the two orders against plain loops, and the stage over an index."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Index, first
from rankloop.search.diversify import diversify, mmr, xquad


def naive_mmr(relevance, vectors, share):
    order = []
    while len(order) < len(relevance):
        values = {}
        for row in range(len(relevance)):
            if row not in order:
                near = max((float(np.dot(vectors[row], vectors[other])) for other in order), default=0.0)
                values[row] = share * relevance[row] - (1 - share) * near
        order.append(max(values, key=lambda row: (round(values[row], 9), -row)))
    return order


def naive_xquad(relevance, aspects, share):
    number = len(aspects[0]) if len(aspects) else 0
    mass = [sum(relevance[row] for row in range(len(relevance)) if aspects[row][a]) for a in range(number)]
    chance = [one / sum(mass) if sum(mass) else 0.0 for one in mass]
    order = []
    while len(order) < len(relevance):
        values = {}
        for row in range(len(relevance)):
            if row in order:
                continue
            new = 0.0
            for a in range(number):
                if aspects[row][a]:
                    left = 1.0
                    for other in order:
                        left *= 1 - relevance[other] * aspects[other][a]
                    new += chance[a] * relevance[row] * left
            values[row] = share * relevance[row] + (1 - share) * new
        order.append(max(values, key=lambda row: (round(values[row], 9), -row)))
    return order


@given(st.integers(2, 9), st.integers(0, 999), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_mmr_is_its_slow_twin(number, seed, share):
    rng = np.random.default_rng(seed)
    relevance, vectors = rng.random(number), rng.normal(size=(number, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert mmr(relevance, vectors, share).tolist() == naive_mmr(relevance, vectors, share)


@given(st.integers(2, 9), st.integers(0, 4), st.integers(0, 999), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_xquad_is_its_slow_twin(number, topics, seed, share):
    rng = np.random.default_rng(seed)
    relevance, aspects = rng.random(number), rng.random((number, topics)) < 0.4
    assert xquad(relevance, aspects, share).tolist() == naive_xquad(relevance, aspects.tolist(), share)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    made = Index.create(
        tmp_path_factory.mktemp("d") / "i",
        {"title": "text", "genre": "keyword", "v": "vector:2", "n": "number"},
    )
    rows = [
        ("a", "red red red hat", "war", [1, 0]),
        ("b", "red red hat old", "war", [1, 0]),
        ("c", "red hat old new x", ["love", "war"], [0, 1]),
        ("d", "red one two three four five six", "love", None),
    ]
    made.add({"id": id, "title": t, "genre": g} | ({"v": v} if v else {}) for id, t, g, v in rows)
    made.commit()
    return made


def test_the_stage_moves_what_is_different_up(index):
    plain = index.retriever()("red")
    assert plain.ids.tolist() == ["a", "b", "c", "d"]
    assert (index.retriever() >> diversify("v", lambda_=0.3))("red").ids.tolist()[:2] == ["a", "c"]
    assert (index.retriever() >> diversify("genre", lambda_=0.0))("red").ids.tolist()[:2] == ["a", "c"]
    for by in ("v", "genre"):
        assert (index.retriever() >> diversify(by, lambda_=1.0))("red").ids.tolist() == plain.ids.tolist()
        changed = (index.retriever() >> diversify(by, lambda_=0.0, k=3))("red")
        assert changed.ids.tolist()[3:] == ["d"]  # below k nothing moves
        assert sorted(changed.ids.tolist()) == ["a", "b", "c", "d"]
        assert len((index.retriever() >> diversify(by) >> first(2))("nothing")) == 0
    kept = (index.retriever() >> diversify("v", lambda_=0.3))("red")
    assert kept.scores[kept.ids.tolist().index("b")] == plain.scores[1]


def test_the_only_vector_field_needs_no_name(index, tmp_path):
    named, found = ((index.retriever() >> diversify(by, lambda_=0.3))("red") for by in ("v", "vector"))
    assert found.ids.tolist() == named.ids.tolist()
    two = Index.create(tmp_path / "i", {"title": "text", "v": "vector:2", "w": "vector:2"})
    two.add([{"id": 1, "title": "red"}])
    two.commit()
    with pytest.raises(ValueError, match=r"unknown vector or keyword field 'vector'.*known: v, w"):
        (two.retriever() >> diversify("vector"))("red")


def test_an_index_without_such_a_field_is_refused(tmp_path):
    words = Index.create(tmp_path / "i", {"title": "text"})
    words.add([{"id": 1, "title": "red"}])
    words.commit()
    with pytest.raises(ValueError, match="the index has neither"):
        (words.retriever() >> diversify("title"))("red")


def test_wrong_settings_say_so(index):
    with pytest.raises(ValueError, match="share of relevance"):
        diversify("v", lambda_=1.5)
    with pytest.raises(ValueError, match="at least k=1"):
        diversify("v", k=0)
    with pytest.raises(ValueError, match="unknown vector or keyword field 'title'"):
        (index.retriever() >> diversify("title"))("red")
