import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.search import Analyser, Features, Index
from rankloop.search.encoders import PretrainedEncoder, sentence_transformer, wordllama
from rankloop.search.text.generic_words import generic_words
from rankloop.search.text.hashing import Bags, hashed
from rankloop.search.two_tower import TwoTower

COLOURS = {"crimson": "red", "azure": "blue", "emerald": "green", "amber": "yellow"}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = Index.create(tmp_path_factory.mktemp("i") / "x", {"title": "text"})
    index.add(
        {"id": f"{colour}{i}", "title": f"{colour} thing {i}"}
        for colour in COLOURS.values()
        for i in range(6)
    )
    index.commit()
    return index


@pytest.fixture(scope="module")
def tower(index):
    queries = {f"{name}{i}": f"{name} thing" for name in COLOURS for i in range(6)}
    judged = {qid: {f"{COLOURS[qid[:-1]]}{qid[-1]}": 1} for qid in queries}
    return TwoTower(dimension=16, buckets=2000, epochs=15, batch=8).fit(index, queries, judged)


def test_it_learns_words_that_never_meet(tower, index):
    ids = index.ids.tolist()
    vectors = tower.encode_documents([index[id] for id in ids])
    for name, colour in COLOURS.items():
        best = np.argsort(-(vectors @ tower(name)))[:6]
        assert all(ids[i].startswith(colour) for i in best)
    assert tower.losses_[-1] < tower.losses_[0] / 2
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_the_same_seed_gives_the_same_vectors_and_files(tower, tmp_path):
    tower.save(tmp_path / "tower")
    again = TwoTower.load(tmp_path / "tower")
    np.testing.assert_array_equal(again("azure thing"), tower("azure thing"))
    assert again.fingerprint == tower.fingerprint
    assert again.encode_queries(["", "red"])[0].tolist() == [0.0] * 16
    (tmp_path / "broken").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"not a saved TwoTower: .* got a text that begins with 'no zip'"):
        TwoTower.load(tmp_path / "broken")


def test_it_is_an_encoder_for_features(tower, tmp_path, index):
    dense = Index.create(tmp_path / "dense", {"title": "text", "v": "vector:16"})
    documents = [index[id] for id in index.ids.tolist()]
    vectors = tower.encode_documents(documents)
    dense.add({**d, "v": v} for d, v in zip(documents, vectors, strict=True))
    dense.commit()
    features = Features(["similarity(v)"], encoders={"v": tower})
    found = dense.retriever(k=6, words=False, vectors={"v": tower})("azure")
    assert {id[:4] for id in found.ids.tolist()} == {"blue"}
    assert features.matrix(found)[:, 0] == pytest.approx(found.scores, abs=1e-6)


def test_hard_negatives_are_what_bm25_ranks_high_and_nobody_wants(index):
    """Each pair brings documents that BM25 lists for the query, none of them relevant."""
    word = index["red0"]["title"].split()[0]
    queries, judged = {"a": word}, {"a": {"red0": 1, "red1": 1, "blue0": 0}}
    pairs = TwoTower(negatives=2)._pairs(index, queries, judged)
    listed = set(index.retriever(k=28)(word).rows.tolist())
    relevant = {index.snapshot.row("red0"), index.snapshot.row("red1")}
    assert {positive for _, positive, _, _ in pairs} == relevant
    for _, _, hard, known in pairs:
        assert len(hard) == 2
        assert set(hard) <= listed - relevant
        assert known == relevant


def test_wrong_training_says_so(index):
    with pytest.raises(ValueError, match="is not fitted"):
        TwoTower()("red")
    with pytest.raises(ValueError, match="relevant documents in the index"):
        TwoTower().fit(index, {"a": "red"}, {"a": {"red0": 0}})


def test_texts_are_bags_of_words_and_trigrams():
    assert len(hashed("ab", 10**6)) == 3  # ab, <ab, ab>
    numbers, starts = Bags(["ab", "", "c"], 10**6).select([2, 1, 0])
    assert starts.tolist() == [0, 2, 3]
    assert numbers.tolist() == [*hashed("c", 10**6), 0, *hashed("ab", 10**6)]


def test_encoders_of_others(monkeypatch):
    def embed(texts):
        return [[len(text), 0.0] for text in texts]

    model = SimpleNamespace(encode=embed, embed=embed)
    load = SimpleNamespace(load=lambda dim, cache_dir, disable_download: model)
    monkeypatch.setitem(sys.modules, "wordllama", SimpleNamespace(WordLlama=load, __file__="w/__init__.py"))
    made = SimpleNamespace(SentenceTransformer=lambda name, **options: model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", made)
    for encoder in (wordllama(), sentence_transformer("any")):
        assert encoder("four").tolist() == [1.0, 0.0]
        assert len(encoder.fingerprint) == 16
    assert wordllama().fingerprint != sentence_transformer("any").fingerprint
    with pytest.raises(ValueError, match="one vector per text"):
        PretrainedEncoder("flat", lambda texts: [1.0])("a")


def test_a_missing_encoder_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ModuleNotFoundError):
        wordllama()


def test_generic_words_are_left_out_before_letters():
    queries = {1: "watch heat online", 2: "watch alien", 3: "alien online"}
    judged = {1: {"h": 1}, 2: {"a": 1, "h": 0}, 3: {"a": 1}}
    words = generic_words(queries, judged, {"h": "Heat", "a": "Alien"}, times=2)
    assert words == ("online", "watch")
    letters = Analyser(grams=(3, 3), stop_words=words)
    assert letters.terms("watch heat online") == letters.terms("Heat")
