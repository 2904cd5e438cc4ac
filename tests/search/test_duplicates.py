import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import Index, collapse
from rankloop.search.collapse import first_alike, signatures


def test_estimates_are_near_the_share_of_shingles(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 400, 120)
    texts = []
    for changed in (0, 3, 10, 30, 120):
        words = base.copy()
        words[rng.choice(120, changed, replace=False)] = rng.integers(400, 800, changed)
        texts.append([f"w{i}" for i in words])
    index = Index.create(tmp_path / "i", {"t": "text"})
    for i, words in enumerate(texts):
        index.add([{"id": i, "t": " ".join(words)}])
        index.commit()
    marks = signatures(index.snapshot, np.arange(5))
    shingles = [{tuple(words[i : i + 3]) for i in range(118)} for words in texts]
    for other in range(5):
        share = len(shingles[0] & shingles[other]) / len(shingles[0] | shingles[other])
        assert (marks[0] == marks[other]).mean() == pytest.approx(share, abs=0.15)


def test_the_best_of_each_group_is_kept(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "body": "text"})
    text = "the quick brown fox jumps over a lazy dog and runs away into deep dark woods"
    index.add(
        [
            {"id": "a", "title": "fox", "body": text},
            {"id": "copy", "title": "fox", "body": text},
            {"id": "near", "title": "fox", "body": text + " tonight"},
            {"id": "other", "title": "fox", "body": "something else entirely about animals of prey"},
            {"id": "empty", "title": "fox", "body": ""},
        ]
    )
    index.commit()
    shown = (index.retriever() >> collapse(0.7))("fox")
    assert len(shown) == 3
    groups = dict(zip(shown.ids.tolist(), shown.columns["duplicates"].tolist(), strict=True))
    assert groups["other"] == groups["empty"] == 1
    assert sum(groups.values()) == 5
    assert len((index.retriever() >> collapse(1.0))("fox")) == 4


def naive_first_alike(marks, needed):
    kept, alike = [], []
    for i, mark in enumerate(marks.tolist()):
        same = [
            j
            for j in kept
            if any(mark) and sum(a == b for a, b in zip(marks[j], mark, strict=True)) >= needed
        ]
        alike.append(same[0] if same else i)
        if not same:
            kept.append(i)
    return alike


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=12), st.integers(1, 4)
)
def test_groups_equal_plain_loops(marks, needed):
    array = np.array(marks, np.uint32)
    assert first_alike(array, needed).tolist() == naive_first_alike(array, needed)


def test_a_wrong_threshold_says_so():
    with pytest.raises(ValueError, match="threshold"):
        collapse(0)
