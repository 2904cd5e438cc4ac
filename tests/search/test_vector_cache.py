"""Vectors on disk: counted encodings, several writers, damage, bounds."""

import sqlite3
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Index
from rankloop.search.encoders import OnnxEncoder
from rankloop.search.encoders.vector_cache import VectorCache, vector_folder
from tiny_encoder import Words, make_model

FIELDS = {"title": "text", "meaning": "vector"}


@pytest.fixture(autouse=True)
def tokenizer(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Words))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache on disk, which other tests do without."""
    monkeypatch.setenv("RANKLOOP_VECTORS", str(tmp_path / "vectors"))
    return tmp_path / "vectors"


@pytest.fixture
def encoded(monkeypatch):
    """How many texts went through the model."""
    seen, run = [], OnnxEncoder._run
    monkeypatch.setattr(OnnxEncoder, "_run", lambda self, ids, n: seen.extend(ids) or run(self, ids, n))
    return seen


def indexed(path, encoder, titles):
    index = Index.create(path, FIELDS, encoder=str(encoder))
    index.add({"id": at, "title": title} for at, title in enumerate(titles))
    index.commit()
    return index


def test_an_index_made_again_encodes_only_what_is_new(tmp_path, kept, encoded):
    folder = make_model(tmp_path / "own")
    titles = [f"{colour} {thing}" for colour in ("red", "blue", "azure") for thing in ("shoe", "hat")]
    first = indexed(tmp_path / "one", folder, titles)
    probe = [7]  # the text that tells the dimension
    assert len([one for one in encoded if one != probe]) == 6
    encoded.clear()
    second = indexed(tmp_path / "two", folder, [*titles, "crimson shoe", "red red hat"])
    assert sorted(one for one in encoded if one != probe) == [[1, 1, 6], [2, 3]]
    for at in range(6):
        np.testing.assert_array_equal(second[at]["meaning"], first[at]["meaning"])
    encoded.clear()
    assert second.retriever(k=1)("hat azure").ids.tolist() == [5]
    assert len([one for one in encoded if one != probe]) == 1  # queries are not looked up on disk, nor kept
    (file,) = kept.iterdir()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (8,)


def test_other_weights_or_settings_do_not_meet_these_vectors(tmp_path, kept):
    folder = make_model(tmp_path / "own")
    long, short = OnnxEncoder(folder), OnnxEncoder(folder, tokens=3)
    text = "red red red blue"
    one = long.encode([text], cache=long.cache())
    two = short.encode([text], cache=short.cache())
    assert one[0].tolist() != two[0].tolist()
    assert len(list(kept.iterdir())) == 2


def test_off_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_VECTORS", "off")
    assert vector_folder() is None
    assert OnnxEncoder(make_model(tmp_path / "own")).cache() is None
    monkeypatch.delenv("RANKLOOP_VECTORS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert vector_folder() == tmp_path / "cache" / "rankloop" / "vectors"


@given(
    st.lists(
        st.dictionaries(st.binary(min_size=1, max_size=3), st.floats(-1, 1, width=32), max_size=6), max_size=5
    )
)
def test_it_is_a_dictionary_that_keeps_the_first(tmp_path_factory, puts):
    cache, twin = VectorCache(tmp_path_factory.mktemp("v"), "f", dimension=2), {}
    for some in puts:
        cache.put({key: np.array([value, 1], np.float32) for key, value in some.items()})
        twin = {**some, **twin}
    found = cache.get([*twin, b"not there"])
    assert {key: value.tolist() for key, value in found.items()} == {k: [v, 1.0] for k, v in twin.items()}


def test_more_keys_than_one_question_takes(tmp_path):
    cache = VectorCache(tmp_path, "f", dimension=1)
    many = {str(at).encode(): np.array([at], np.float32) for at in range(1_201)}
    cache.put(many)
    assert {key: float(one[0]) for key, one in cache.get(list(many)).items()} == {
        key: float(one[0]) for key, one in many.items()
    }


def test_the_oldest_go_past_the_bound(tmp_path):
    cache = VectorCache(tmp_path, "f", dimension=2, largest=8 * 3)  # three vectors of two numbers
    for at in range(5):
        cache.put({bytes([at]): np.ones(2, np.float32)})
    assert sorted(cache.get([bytes([at]) for at in range(5)])) == [b"\x02", b"\x03", b"\x04"]


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    def write(one):
        cache = VectorCache(tmp_path, "f", dimension=2)
        for at in range(20):
            cache.put({bytes([one, at]): np.full(2, at, np.float32), bytes([at]): np.ones(2, np.float32)})

    threads = [threading.Thread(target=write, args=(one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache = VectorCache(tmp_path, "f", dimension=2)
    assert len(cache.get([bytes([one, at]) for one in range(4) for at in range(20)])) == 80
    assert len(cache.get([bytes([at]) for at in range(20)])) == 20


def test_a_damaged_file_costs_time_alone(tmp_path, kept):
    folder = make_model(tmp_path / "own")
    encoder = OnnxEncoder(folder)
    whole = encoder.encode(["red", "blue hat"])
    cache = encoder.cache()
    kept.mkdir()
    cache.path.write_bytes(b"no database " * 100)
    again = OnnxEncoder(folder)
    with pytest.warns(UserWarning, match="so all of them are computed; remove the file"):
        found = again.encode(["red", "blue hat"], cache=cache)
    np.testing.assert_array_equal(found, whole)
    OnnxEncoder(folder).encode(["red"], cache=cache)  # said once


def test_a_vector_of_another_length_or_without_value_is_made_again(tmp_path):
    short, cache = VectorCache(tmp_path, "f", dimension=1), VectorCache(tmp_path, "f", dimension=2)
    short.put({b"a": np.ones(1, np.float32)})
    cache.put({b"b": np.array([1, np.nan], np.float32), b"c": np.ones(2, np.float32)})
    assert list(cache.get([b"a", b"b", b"c"])) == [b"c"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "vectors", "f", dimension=2)
    with pytest.warns(UserWarning, match="name a folder of your own in RANKLOOP_VECTORS"):
        cache.put({b"a": np.ones(2, np.float32)})
    assert cache.get([b"a"]) == {}
