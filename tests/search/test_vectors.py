import numpy as np
import pytest

from rankloop.rankers import LinearRanker
from rankloop.search import Features, Index, Query


def build(folder, vectors, **fields):
    index = Index.create(folder / "i", {"t": "text", "v": f"vector:{vectors.shape[1]}", **fields})
    index.add({"id": i, "t": f"word{i}", "v": vector} for i, vector in enumerate(vectors))
    return index


def best(vectors, query, k, gone=()):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit.astype(np.float64) @ (query / np.linalg.norm(query))
    scores[list(gone)] = -np.inf
    return np.argsort(-scores, kind="stable")[:k], np.sort(scores)[::-1][:k]


def test_exact_search_over_segments_with_deletes_and_readds(tmp_path):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 8)).astype(np.float32)
    index = build(tmp_path, vectors)
    index.commit()
    index.delete(range(40))
    index.add([{"id": 1000, "t": "no vector"}])
    vectors[5] = -vectors[5]
    index.add([{"id": 5, "v": vectors[5]}])  # deleted and added again, elsewhere
    index.commit()
    find = index.retriever(k=10, words=False, vectors={"v": None})
    for query in (*rng.normal(size=(10, 8)), vectors[5]):
        found = find(Query("", vectors={"v": query}))
        ids, scores = best(vectors, query, 10, set(range(40)) - {5})
        assert found.ids.tolist() == ids.tolist()
        np.testing.assert_allclose(found.scores, scores, rtol=1e-6)
    assert (
        len(index.retriever(k=1000, words=False, vectors={"v": None})(Query("", vectors={"v": vectors[0]})))
        == 161
    )


def test_graphs_find_what_a_scan_finds_after_deletes_and_readds(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.search.index.vectors.GRAPH_FROM", 500)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(2000, 8)).astype(np.float32)
    index = build(tmp_path, vectors)
    index.compact()
    assert dict(index.snapshot.manifest.parts[0].graphs).keys() == {"v"}
    gone = list(range(0, 2000, 2))
    index.delete(gone)
    index.add({"id": i, "v": vectors[i]} for i in range(0, 100, 2))
    index.commit()
    gone = gone[50:]
    find = Index.open(index.path).retriever(k=20, words=False, vectors={"v": None})
    share = []
    for query in rng.normal(size=(30, 8)):
        found = find(Query("", vectors={"v": query})).ids.tolist()
        assert not set(found) & set(gone)
        assert len(found) == len(set(found)) == 20
        share.append(len(set(found) & set(best(vectors, query, 20, gone)[0].tolist())) / 20)
    assert np.mean(share) > 0.95
    index.compact()
    assert len(index) == 1050


def test_dot_products_keep_lengths(tmp_path):
    from rankloop.search import Field

    index = Index.create(tmp_path / "i", {"v": Field("vector", dimension=2, similarity="dot")})
    index.add([{"id": "short", "v": [1, 0]}, {"id": "long", "v": [5, 5]}])
    index.commit()
    found = index.retriever(words=False, vectors={"v": None})(Query("", vectors={"v": [1, 0]}))
    assert found.ids.tolist() == ["long", "short"]
    assert found.scores.tolist() == [5, 1]


@pytest.fixture
def hybrid(tmp_path):
    index = Index.create(tmp_path / "i", {"t": "text", "v": "vector:2"})
    index.add(
        [
            {"id": "words", "t": "red fox", "v": [0, 1]},
            {"id": "both", "t": "red dog", "v": [1, 0.1]},
            {"id": "meaning", "t": "blue", "v": [1, 0]},
        ]
    )
    index.commit()
    return index


def encode(text):
    return [1.0, 0.0]


def test_fusion_scores_the_whole_pool_by_every_source(hybrid):
    found = hybrid.retriever(k=2, vectors={"v": encode}, weights={"words": 0.5, "v": 0.5})("red fox")
    assert set(found.sources) == {"words", "v"}
    assert len(found) == 2
    whole = hybrid.retriever(k=3, vectors={"v": encode})("red fox")
    at = whole.ids.tolist().index("words")
    assert whole.sources["v"][at] == pytest.approx(0.0)
    assert whole.ranks["words"][whole.ids.tolist().index("meaning")] == 0
    rrf = hybrid.retriever(k=3, vectors={"v": encode}, fusion="rrf")("red fox")
    assert rrf.scores[rrf.ids.tolist().index("meaning")] == pytest.approx(1 / 61)


def test_tuning_finds_the_better_source_and_rrf_warns(hybrid):
    queries = {1: "red", 2: "fox"}
    judgments = {1: {"meaning": 1, "words": 0}, 2: {"meaning": 1}}
    tuned = hybrid.retriever(vectors={"v": encode}).tune(queries, judgments)
    assert tuned.weights["v"] > tuned.weights["words"]
    assert tuned("red").ids[0] == "meaning"
    with pytest.warns(UserWarning, match="lists differ in quality"):
        hybrid.retriever(vectors={"v": encode}, fusion="rrf").tune(queries, judgments)
    with pytest.raises(ValueError, match="judged queries"):
        tuned.tune({}, {})


def test_reciprocal_ranks_are_tuned_as_they_are_fused(hybrid):
    """The weights that tuning finds are those with which the ranks, not the scores, are added up."""
    queries, judgments = {1: "red", 2: "fox"}, {1: {"meaning": 1}, 2: {"meaning": 1}}
    plain = hybrid.retriever(vectors={"v": encode}, fusion="rrf")
    pools, labels = plain.judged_pools(queries, judgments)
    found = plain("red")
    assert sum(pools[0].values()).tolist() == found.scores.tolist()
    assert labels[0] == [float(id == "meaning") for id in found.ids.tolist()]
    with pytest.warns(UserWarning, match="lists differ in quality"):
        tuned = plain.tune(queries, judgments)
    assert tuned("red").ids[0] == "meaning"


def test_a_pipeline_tunes_its_fusion_by_default(hybrid):
    queries, judgments = {1: "red", 2: "fox"}, {1: {"meaning": 1, "words": 0}, 2: {"meaning": 1}}
    retrieve = hybrid.retriever(vectors={"v": encode})
    search = retrieve >> Features(["covered(t)"]) >> LinearRanker()
    search.fit(queries, judgments, among="retrieved")
    assert search.stages[0].weights == retrieve.tune(queries, judgments).weights
    given = hybrid.retriever(vectors={"v": encode}, weights={"words": 0.9, "v": 0.1})
    kept = given >> Features(["covered(t)"]) >> LinearRanker()
    assert kept.fit(queries, judgments, among="retrieved").stages[0] is given
    words = hybrid.retriever() >> Features(["covered(t)"]) >> LinearRanker()
    assert words.fit({1: "red"}, {1: {"words": 1, "both": 0}}).stages[0].weights is None
    ranks = (
        hybrid.retriever(vectors={"v": encode}, fusion="rrf") >> Features(["covered(t)"]) >> LinearRanker()
    )
    with pytest.warns(UserWarning, match="lists differ in quality"):
        ranks.fit(queries, judgments, among="retrieved")


def test_a_missing_query_vector_says_so(hybrid):
    with pytest.raises(ValueError, match="no vector for field 'v'"):
        hybrid.retriever(vectors={"v": None})("red")
    with pytest.raises(ValueError, match="2 numbers"):
        hybrid.retriever(vectors={"v": lambda text: [1.0]})("red")
