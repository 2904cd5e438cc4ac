"""Learned weights of sources: taken where they help, refused where nothing differs, saved with a pipeline."""

from dataclasses import replace

import numpy as np
import pytest

from rankloop.rankers import LinearRanker
from rankloop.search import Features, HybridWeights, Index, first, load_pipeline
from rankloop.search.hybrid_weights import looks


def world(rng, queries, *, depends):
    """Two sources; where it depends on the query, one number of the query says which of them is good."""
    pools, shapes, labels = [], [], []
    for _ in range(queries):
        label = rng.integers(0, 2, 12)
        label[0] = 1
        sign = rng.choice([-1.0, 1.0])
        noise = np.array([0.3, 3.0]) if sign > 0 else np.array([3.0, 0.3])
        if not depends:
            noise = np.array([0.8, 0.8])
        scores = label[:, None] + noise * rng.normal(size=(12, 2))
        low, high = scores.min(0), scores.max(0)
        pools.append((scores - low) / (high - low))
        shapes.append([sign, *rng.normal(size=4)])
        labels.append(label.astype(float).tolist())
    return pools, np.array(shapes), labels


def test_weights_per_query_are_found_where_queries_differ():
    stage = HybridWeights(folds=3)
    stage.learn(*world(np.random.default_rng(0), 60, depends=True))
    assert stage.ranker_ is not None
    assert stage.verdict_.low > 0
    assert stage.verdict_.wins > 5 * stage.verdict_.losses


def test_one_weight_is_kept_where_nothing_differs():
    """The guard errs in at most a few of 30 worlds without a difference: about 2.5 % is what it promises."""
    wrong = 0
    for seed in range(30):
        stage = HybridWeights(folds=2)
        stage.learn(*world(np.random.default_rng(seed), 24, depends=False))
        wrong += stage.ranker_ is not None
        assert stage.weights_.sum() == pytest.approx(1)
    assert wrong <= 3


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    made = Index.create(tmp_path_factory.mktemp("h") / "i", {"title": "text", "v": "vector:2"})
    made.add({"id": i, "title": f"red thing {'blue ' * (i % 3)}", "v": [1, i]} for i in range(30))
    made.commit()
    return made


def test_the_stage_over_an_index(index):
    search = index.retriever(k=20, vectors={"v": lambda text: [1.0, float(len(text))]})
    queries = {i: "red blue" if i % 2 else "thing" for i in range(20)}
    judged = {i: {j: int(j % 5 == i % 5) for j in range(30)} for i in range(20)}
    stage = HybridWeights(folds=2).fit(search, queries, judged)
    found = (search >> stage >> first(5))("red")
    assert len(found) == 5
    assert np.all(np.diff(found.scores) <= 0)
    assert sorted((search >> stage)("red").ids.tolist()) == sorted(search("red").ids.tolist())
    assert np.isfinite(looks(search("red blue"))).all()
    assert np.isfinite(looks(search("zebra"))).all()
    other = replace(search("red").take([0, 1]), sources={"a": np.ones(2), "b": np.ones(2)})
    with pytest.raises(ValueError, match="it learned weights of"):
        stage(other)


def test_without_a_gain_the_weights_of_the_retriever_stay(index):
    """Labels at random: nothing can be learned, and the page is the retriever's to the last bit."""
    rng = np.random.default_rng(0)
    queries = {i: "red blue" if i % 2 else "thing" for i in range(20)}
    judged = {i: {j: int(rng.random() < 0.3) for j in range(30)} for i in range(20)}
    search = index.retriever(
        k=20, vectors={"v": lambda text: [1.0, float(len(text))]}, weights={"words": 0.2, "v": 0.8}
    )
    stage = HybridWeights(folds=2).fit(search, queries, judged)
    assert stage.ranker_ is None
    np.testing.assert_array_equal((search >> stage)("red").scores, search("red").scores)


def test_wrong_use_says_so(index):
    with pytest.raises(ValueError, match="one source needs no weights"):
        HybridWeights().fit(index.retriever(), {1: "red"}, {1: {1: 1}})
    search = index.retriever(k=20, vectors={"v": lambda text: [1.0, 1.0]})
    with pytest.raises(ValueError, match="at least 10 queries"):
        HybridWeights().fit(search, {1: "red"}, {1: {1: 1}})
    with pytest.raises(ValueError, match="not fitted"):
        HybridWeights()(search("red"))
    with pytest.raises(ValueError, match="folds is at least 2"):
        HybridWeights(folds=1)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Words are right for short queries and vectors for long ones, which the number of words tells."""
    rng = np.random.default_rng(3)
    made = Index.create(
        tmp_path_factory.mktemp("s") / "i", {"title": "text", "body": "text", "v": "vector:2"}
    )
    angles = rng.uniform(0, np.pi / 2, 120)
    made.add(
        {"id": i, "title": "red " * (i % 7), "body": "thing", "v": [np.cos(one), np.sin(one)]}
        for i, one in enumerate(angles)
    )
    made.commit()
    queries = {
        i: "red thing" if i % 2 else "red thing which is not really red but upright" for i in range(24)
    }
    judged = {
        i: {j: int(j % 7 == 6 if i % 2 else one > 1.3) for j, one in enumerate(angles)} for i in range(24)
    }
    return made, queries, judged


def upright(text):
    return [0.0, 1.0]


def test_a_pipeline_fits_and_saves_them(shop, tmp_path):
    index, queries, judged = shop
    source = index.retriever(k=120, vectors={"v": upright})
    search = source >> HybridWeights(folds=2) >> first(10)
    with pytest.raises(ValueError, match="fit it before it is saved"):
        search.save(tmp_path / "early")
    search.fit(queries, judged).save(tmp_path / "saved")
    assert search.stages[0].weights is not None
    assert search.stages[1].ranker_ is not None
    loaded = load_pipeline(tmp_path / "saved", index, encoders={"v": upright})
    for query in (*queries.values(), "nothing", "red"):
        np.testing.assert_array_equal(loaded(query).ids, search(query).ids)
        np.testing.assert_array_equal(loaded(query).scores, search(query).scores)
    assert loaded.fingerprint == search.fingerprint
    assert loaded.stages[1].verdict_ == search.stages[1].verdict_
    single = source.tune(queries, judged) >> HybridWeights(folds=2, confidence=0.9999999) >> first(10)
    assert single.fit(queries, judged).fingerprint != search.fingerprint


def test_single_weights_are_saved_as_well(shop, tmp_path):
    """Without weights of its own the retriever counts sources alike; the stage brings those it tuned."""
    index, queries, judged = shop
    source = index.retriever(k=120, vectors={"v": upright})
    stage = HybridWeights(folds=2).fit(source, queries, judged)
    stage.ranker_ = None
    (source >> stage).save(tmp_path / "single")
    loaded = load_pipeline(tmp_path / "single", index, encoders={"v": upright})
    np.testing.assert_array_equal(loaded("red").scores, (source >> stage)("red").scores)
    stage.weights_ = np.ones(3)
    with pytest.raises(ValueError, match="hybrid weights are damaged"):
        HybridWeights.from_bytes(stage.to_bytes())


def test_a_ranker_after_learned_weights_is_fitted_too(shop, tmp_path):
    """The encoder is the retriever's alone: it must not change what the features are known by."""
    index, queries, judged = shop
    search = (
        index.retriever(k=120, vectors={"v": upright})
        >> HybridWeights(folds=2)
        >> Features(["bm25(title)", "bm25(body)"])
        >> LinearRanker()
    )
    search.fit(queries, judged, among="retrieved").save(tmp_path / "both")
    loaded = load_pipeline(tmp_path / "both", index, encoders={"v": upright})
    np.testing.assert_array_equal(loaded("red").scores, search("red").scores)
    with pytest.raises(ValueError, match=r"HybridWeights follow index\.retriever"):
        ((lambda query: index.retriever()(query)) >> HybridWeights()).fit(queries, judged)


def test_the_sources_are_those_of_a_query_that_both_answer(shop):
    """The first query has no word, so that words do not list anything for it."""
    index, queries, judged = shop
    source = index.retriever(k=120, vectors={"v": upright})
    stage = HybridWeights(folds=2).fit(source, {"-": "", **queries}, {"-": {1: 1}, **judged})
    assert stage.sources_ == ["words", "v"]
