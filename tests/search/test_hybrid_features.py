"""A weighted sum of words and meaning over the candidates of words."""

import numpy as np
import pytest

from rankloop.rankers import LinearRanker
from rankloop.search import Index, first, hybrid_features, load_pipeline


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Of the documents with the word, those whose vector points up are relevant."""
    made = Index.create(
        tmp_path_factory.mktemp("h") / "i", {"title": "text", "tags": "text", "v": "vector:2"}
    )
    made.add(
        {"id": i, "title": "red shoe" if i % 2 else "blue hat", "tags": "old", "v": [1.0, i % 3]}
        for i in range(30)
    )
    made.commit()
    return made


def upright(text):
    return [0.0, 1.0]


def test_a_linear_ranker_weighs_words_and_meaning(index, tmp_path):
    features = hybrid_features(index, encoders={"v": upright})
    assert features.names == ("bm25(title)", "bm25(tags)", "similarity(v)")
    queries = {"a": "red old", "b": "blue old"}
    judged = {
        qid: {i: int(i % 2 == odd and i % 3 == 2) for i in range(30)} for qid, odd in (("a", 1), ("b", 0))
    }
    search = index.retriever(vectors={}) >> features >> LinearRanker(loss="lambdarank") >> first(5)
    search.fit(queries, judged, among="retrieved")
    assert search.evaluate(queries, judged, ["ndcg@5"]).mean["ndcg@5"] == pytest.approx(1)
    assert search.ranker.coef_[2] > 0
    search.save(tmp_path / "saved")
    loaded = load_pipeline(tmp_path / "saved", index, encoders={"v": upright})
    np.testing.assert_array_equal(loaded("red old").scores, search("red old").scores)


def test_without_an_encoder_it_says_what_to_give(index):
    with pytest.raises(ValueError, match="give encoders="):
        hybrid_features(index)
    with pytest.raises(ValueError, match="give encoders="):
        hybrid_features(index, encoders={"title": upright})
