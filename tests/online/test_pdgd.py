"""PDGD against enumeration of every page and every click."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.online.models.kernels import linear_scores, log_page_probability, pdgd_gradient, top_k


def page_probability(scores, page):
    """Plackett-Luce by its definition."""
    left = list(range(len(scores)))
    chance = 1.0
    for document in page:
        mass = np.exp(scores[left])
        chance *= np.exp(scores[document]) / mass.sum()
        left.remove(document)
    return chance


def naive_gradient(scores, page, clicks, allowed=None):
    """Pair by pair, with the swapped page's probability computed from scratch; one entry per place."""
    gradient = np.zeros(len(page))
    if not any(clicks):
        return gradient
    last = max(i for i, c in enumerate(clicks) if c)
    for i, j in product(range(len(page)), repeat=2):
        if not clicks[i] or clicks[j] or j > last + 1:
            continue
        if allowed is not None and not allowed[min(i, j)][max(i, j)]:
            continue
        swapped = list(page)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        here, there = page_probability(scores, page), page_probability(scores, swapped)
        a, b = np.exp(scores[page[i]]), np.exp(scores[page[j]])
        step = there / (here + there) * a * b / (a + b) ** 2
        gradient[i] += step
        gradient[j] -= step
    return gradient


finite = st.floats(-4, 4, allow_nan=False)


@given(
    scores=st.lists(finite, min_size=4, max_size=6),
    k=st.integers(1, 4),
    order=st.permutations(range(6)),
    clicks=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_gradient_is_the_definition(scores, k, order, clicks):
    scores = np.array(scores)
    page = [d for d in order if d < len(scores)][:k]
    got = pdgd_gradient(scores, np.array(page), np.array(clicks[:k]), np.ones((k, k), bool))
    assert got == pytest.approx(naive_gradient(scores, page, clicks[:k]), abs=1e-10)
    assert got.sum() == pytest.approx(0.0, abs=1e-12)


def test_expected_gradient_equals_enumeration_for_four_documents():
    """Every page of 3 of 4 documents, every click vector of a cascade-free user, to 1e-10."""
    scores = np.array([0.3, -1.2, 0.8, 0.1])
    attraction = np.array([0.1, 0.4, 0.2, 0.9])
    expected, wanted = np.zeros(4), np.zeros(4)
    for page in permutations(range(4), 3):
        chance = page_probability(scores, page)
        for clicks in product([False, True], repeat=3):
            likely = np.prod(
                [attraction[d] if c else 1 - attraction[d] for d, c in zip(page, clicks, strict=True)]
            )
            step = pdgd_gradient(scores, np.array(page), np.array(clicks), np.ones((3, 3), bool))
            expected[list(page)] += chance * likely * step
            wanted[list(page)] += chance * likely * naive_gradient(scores, page, clicks)
    assert expected == pytest.approx(wanted, abs=1e-10)


def test_expected_pair_weight_has_the_sign_of_the_preference():
    """Theorem of the paper: between two documents the expected step goes to the more attractive one."""
    attraction = np.array([0.2, 0.7])
    for gap in (-3.0, -0.5, 0.0, 0.5, 3.0):
        scores = np.array([gap, 0.0])
        expected = np.zeros(2)
        for page in permutations(range(2)):
            for clicks in product([False, True], repeat=2):
                likely = np.prod(
                    [attraction[d] if c else 1 - attraction[d] for d, c in zip(page, clicks, strict=True)]
                )
                step = pdgd_gradient(scores, np.array(page), np.array(clicks), np.ones((2, 2), bool))
                expected[list(page)] += page_probability(scores, page) * likely * step
        assert expected[1] > 0 > expected[0]


def test_huge_scores_stay_exact():
    """One document far ahead: the others still compare, where plain exponentials underflow."""
    scores = np.array([1e4, 0.0, 1.0, 2.0, -1e4])
    page = np.array([0, 1, 2])
    got = pdgd_gradient(scores, page, np.array([False, False, True]), np.ones((3, 3), bool))
    plain = pdgd_gradient(scores[1:4], page[1:] - 1, np.array([False, True]), np.ones((2, 2), bool))
    assert np.isfinite(got).all()
    assert got[1:] == pytest.approx(plain, rel=1e-9)


@given(scores=st.lists(finite, min_size=1, max_size=6), k=st.integers(1, 6))
def test_page_probabilities(scores, k):
    scores = np.array(scores)
    page = list(range(len(scores)))[:k]
    assert np.exp(log_page_probability(scores, np.array(page)).sum()) == pytest.approx(
        page_probability(scores, page)
    )


@given(keys=st.lists(st.integers(0, 5), min_size=1, max_size=30), k=st.integers(1, 40))
def test_top_k_is_a_stable_sort(keys, k):
    keys = np.array(keys, float)
    assert top_k(keys, k).tolist() == np.argsort(-keys, kind="stable")[:k].tolist()


def test_missing_features_count_as_the_mean():
    X = np.array([[1.0, np.nan], [3.0, 2.0]], np.float32)
    assert linear_scores(X, np.array([1.0, 1.0]), np.array([2.0, 5.0])).tolist() == [0.0, 9.0]
