import numpy as np
import pytest

from rankloop.search import Index, Query, tune_weights


def two_sources(folder, meanings):
    """Documents a, b, c: the word score falls from a to c, the similarity is as given (None: no vector)."""
    index = Index.create(folder / "i", {"title": "text", "meaning": "vector:2"})
    titles = {"a": "fox fox fox", "b": "fox fox", "c": "fox"}
    vectors = {id: None if x is None else [x, (1 - x * x) ** 0.5] for id, x in meanings.items()}
    index.add({"id": id, "title": title, "meaning": vectors[id]} for id, title in titles.items())
    index.commit()
    return index


FOX = Query(**{**vars(Query.of_words("fox")), "vectors": {"meaning": np.array([1.0, 0.0], np.float32)}})


def test_reciprocal_rank_fusion_by_hand(tmp_path):
    index = two_sources(tmp_path, {"a": 0.1, "b": 0.9, "c": 0.5})
    both = {"vectors": {"meaning": None}, "fusion": "rrf"}
    found = index.retriever(k=2, **both, weights={"words": 1, "meaning": 0.5})
    whole = index.retriever(k=3, **both)(FOX)
    by_id = dict(zip(whole.ids.tolist(), whole.scores.tolist(), strict=True))
    assert by_id == pytest.approx({"a": 1 / 61 + 1 / 63, "b": 1 / 62 + 1 / 61, "c": 1 / 63 + 1 / 62})
    # With k=2 words list a and b, meaning lists b and c; a list adds nothing to what it lacks.
    assert found(FOX).ids.tolist() == ["b", "a"]
    np.testing.assert_allclose(found(FOX).scores, [1 / 62 + 0.5 / 61, 1 / 61])


def test_pools_of_reciprocal_rank_fusion_keep_ranks_beyond_the_cut(tmp_path):
    index = two_sources(tmp_path, {"a": 0.1, "b": 0.9, "c": 0.5})
    found = index.retriever(k=2, vectors={"meaning": None}, fusion="rrf")
    pools, labels = found.judged_pools({"q": FOX}, {"q": {"c": 1}})
    assert found(FOX).ids.tolist() == ["b", "a"]  # c, second by meaning, is cut
    assert labels == [[0.0, 0.0]]
    np.testing.assert_allclose(pools[0]["words"], [1 / 62, 1 / 61])
    np.testing.assert_allclose(pools[0]["meaning"], [1 / 61, 0.0])


def test_weighted_fusion_is_free_of_scale(tmp_path):
    index = two_sources(tmp_path, {"a": 0.1, "b": 0.9, "c": None})
    found = index.retriever(vectors={"meaning": None}, weights={"words": 0.3, "meaning": 0.7})(FOX)
    words = dict(zip(found.ids.tolist(), found.sources["words"].tolist(), strict=True))
    unit = {id: (words[id] - words["c"]) / (words["a"] - words["c"]) for id in words}
    expected = {"a": 0.3, "b": 0.3 * unit["b"] + 0.7, "c": 0.0}
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(expected)


def test_equal_scores_count_one_and_missing_ones_nothing(tmp_path):
    index = two_sources(tmp_path, {"a": 0.5, "b": 0.5, "c": None})
    found = index.retriever(vectors={"meaning": None}, weights={"meaning": 1.0})(FOX)
    assert found.scores.tolist() == [1.0, 1.0, 0.0]


def test_tuned_weights_are_no_worse_than_the_best_list():
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 3, 20) for _ in range(30)]
    pools = [
        {"good": one + rng.normal(0, 1, 20), "fair": one + rng.normal(0, 1.5, 20), "bad": rng.normal(size=20)}
        for one in labels
    ]
    weights, quality = tune_weights(pools, labels)
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["good"] > weights["fair"] > weights["bad"]
    assert quality["good"] > quality["fair"] > quality["bad"]


def test_bad_input_says_so():
    with pytest.raises(ValueError, match="one array of labels per pool"):
        tune_weights([{"a": [1.0]}], [])
    with pytest.raises(ValueError, match="no pool holds a relevant document"):
        tune_weights([{"a": [1.0]}], [[0]])
