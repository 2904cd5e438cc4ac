"""PL-Rank against all rankings, one by one."""

from itertools import permutations

import numpy as np
import pytest

from rankloop.losses import LossResult, PLRank
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.plrank import add_ranking

SCORES, GAINS = np.array([0.4, -0.7, 1.1, 0.0]), np.array([1.0, 0.3, 0.0, 2.0], np.float32)


def enumerated(scores, gains, k):
    """Expected DCG@k over all rankings of the policy."""
    total = 0.0
    for page in permutations(range(len(scores))):
        left, chance, value = np.exp(scores).copy(), 1.0, 0.0
        for rank, document in enumerate(page):
            chance *= left[document] / left.sum()
            left[document] = 0
            if rank < k:
                value += gains[document] / np.log2(rank + 2)
        total += chance * value
    return total


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_rankings_together_have_the_gradient_of_the_enumerated_value(k):
    discount = 1 / np.log2(np.arange(2.0, k + 2))
    lists = LossLists(SCORES, GAINS, [0, 4])
    gradient, value = np.zeros(4), 0.0
    for page in permutations(range(4)):
        left, chance = np.exp(SCORES).copy(), 1.0
        for document in page:
            chance *= left[document] / left.sum()
            left[document] = 0
        one = LossResult(np.zeros(1), np.zeros(4), np.zeros(4))
        add_ranking(lists, GAINS.astype(np.float64), np.array(page), discount, one)
        value += chance * one.value[0]
        gradient += chance * one.gradient
    assert -value == pytest.approx(enumerated(SCORES, GAINS, k), rel=1e-12)
    for d in range(4):
        step = np.zeros(4)
        step[d] = 1e-5
        slope = (enumerated(SCORES + step, GAINS, k) - enumerated(SCORES - step, GAINS, k)) / 2e-5
        assert -gradient[d] == pytest.approx(slope, abs=1e-9)


def test_samples_come_near():
    found = PLRank(k=3, samples=20_000, gain="linear")(SCORES, GAINS, [0, 4])
    assert -found.value[0] == pytest.approx(enumerated(SCORES, GAINS, 3), rel=0.01)
    assert found.gradient.sum() == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="samples of PLRank must be a whole number from 1"):
        PLRank(samples=0)
