"""The best k of scored documents, beside sorting them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search.index.best import best_first, shrink

SCORES = st.one_of(
    st.sampled_from([5e-324, 0.25, 0.5, np.nextafter(0.5, 1), 1.0, 1e300]),
    st.floats(0, 10, exclude_min=True),
    st.floats(0, 1e308, exclude_min=True),
)
SCORED = st.lists(SCORES, min_size=1, max_size=60).flatmap(
    lambda scores: st.tuples(st.just(scores), st.permutations(range(len(scores))))
)


def naive_best(scores, documents, k):
    return sorted(zip(scores, documents, strict=True), key=lambda one: (-one[0], one[1]))[:k]


@given(SCORED, st.integers(1, 60))
def test_the_best_come_first(scored, k):
    scores, documents = scored
    rows, best = best_first(np.array(documents, np.int64), np.array(scores), k)
    assert list(zip(best.tolist(), rows.tolist(), strict=True)) == naive_best(scores, documents, k)


@given(SCORED, st.integers(1, 60))
def test_the_best_are_moved_to_the_front(scored, k):
    scores, documents = scored
    size = len(scores)
    k = min(k, size)
    held, who = np.append(scores, np.inf), np.append(documents, -1)  # what lies behind `size` stays
    lowest = shrink(held, who, size, k)
    kept = sorted(zip(held[:k].tolist(), who[:k].tolist(), strict=True))
    assert kept == sorted(naive_best(scores, documents, k))
    assert lowest == min(score for score, _ in kept)
    assert (held[size], who[size]) == (np.inf, -1)


@pytest.mark.parametrize("documents", [0, 1])
def test_the_best_of_hardly_any(documents):
    rows, scores = best_first(np.arange(documents), np.ones(documents), 3)
    assert rows.tolist() == [0] * documents
    assert scores.tolist() == [1.0] * documents
