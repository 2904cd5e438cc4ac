"""Rank-biased overlap: the definition in plain loops, and worked numbers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.metrics import rbo
from strategies import ragged_lists


def naive_rbo(one, two, p):
    """Webber et al. (2010), equation 32, on lists of documents."""
    if len(one) > len(two):
        one, two = two, one
    short, long = len(one), len(two)
    overlap = [0] + [len(set(one[:d]) & set(two[:d])) for d in range(1, long + 1)]
    total = sum(overlap[d] / d * p**d for d in range(1, long + 1))
    total += sum(overlap[short] * (d - short) / (short * d) * p**d for d in range(short + 1, long + 1))
    return (1 - p) / p * total + ((overlap[long] - overlap[short]) / long + overlap[short] / short) * p**long


def ranking(scores):
    rows = [i for i in range(len(scores)) if scores[i] > -np.inf]
    return sorted(rows, key=lambda i: -scores[i])


@given(data=ragged_lists(max_lists=3, max_length=12), p=st.floats(0.1, 0.98), seed=st.integers(0, 99))
def test_it_is_the_definition(data, p, seed):
    scores, _, offsets = data
    rng = np.random.default_rng(seed)
    one = np.where(rng.random(len(scores)) < 0.2, -np.inf, scores)
    two = np.where(rng.random(len(scores)) < 0.3, -np.inf, rng.integers(0, 9, len(scores)))
    made = rbo(one, two, offsets, p=p)
    np.testing.assert_allclose(rbo(two, one, offsets, p=p), made)
    for q, (a, b) in enumerate(pairwise(offsets)):
        left, right = ranking(one[a:b]), ranking(two[a:b])
        if left and right:
            assert made[q] == pytest.approx(naive_rbo(left, right, p))
            assert -1e-12 <= made[q] <= 1 + 1e-12
        else:
            assert np.isnan(made[q])


def test_ends():
    assert rbo([], [], [0]).shape == (0,)
    assert rbo([2.0, 1.0], [2.0, 1.0], [0, 2])[0] == pytest.approx(1)
    nothing = -np.inf
    assert rbo([2.0, nothing], [nothing, 1.0], [0, 2])[0] == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        rbo([1.0], [1.0], [0, 1], p=1.0)
    with pytest.raises(ValueError, match="one value per document"):
        rbo([1.0], [1.0, 2.0], [0, 1])
