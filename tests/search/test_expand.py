import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import edit_distance
from rankloop.search import Analyser, Index
from rankloop.search.index.arrays import pack
from rankloop.search.index.expand import edit_distances, near_terms, prefix_terms

LETTERS = st.text(alphabet="abé東😀", max_size=7)


@given(st.lists(LETTERS, min_size=1, max_size=8), LETTERS.filter(bool), st.integers(1, 2))
def test_distances_equal_a_full_table(words, wanted, most):
    data, offsets = pack(word.encode() for word in words)
    found = edit_distances(data, offsets, np.array([ord(letter) for letter in wanted], np.int64), most)
    assert found.tolist() == [min(edit_distance(word, wanted), most + 1) for word in words]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    index = Index.create(tmp_path_factory.mktemp("expand") / "i", {"t": "text"}, analyser=Analyser(None))
    for i, text in enumerate(["insidious", "insidiously inside", "inside insidious", "zebra cat"]):
        index.add([{"id": i, "t": text}])
        index.commit()
    return index.snapshot


def test_prefixes_over_segments(snapshot):
    assert prefix_terms(snapshot, 0, "insid") == {"inside": 2, "insidious": 2, "insidiously": 1}
    assert prefix_terms(snapshot, 0, "zz") == {}


def test_near_terms_over_segments(snapshot):
    assert near_terms(snapshot, 0, "insidous") == {"insidious": (1, 2)}
    assert near_terms(snapshot, 0, "isnidiuos") == {"insidious": (2, 2)}
    assert near_terms(snapshot, 0, "cta") == {}
    assert near_terms(snapshot, 0, "insid1ous") == {}
