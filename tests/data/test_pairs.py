"""Explicit preferences."""

import numpy as np
import pytest

from rankloop.data import Pairs


def test_certain_and_of_weight_one_unless_said():
    pairs = Pairs([0, 4], [2, 3])
    assert (pairs.probability.tolist(), pairs.weight.tolist()) == ([1, 1], [1, 1])
    assert len(pairs) == 2
    assert pairs.better.dtype == np.int64


def test_moved_rows_and_rows_that_are_gone():
    pairs = Pairs([0, 2], [1, 0], [0.9, 0.6], [1, 2]).moved(np.array([5, 6, -1]))
    assert (pairs.better.tolist(), pairs.worse.tolist()) == ([5], [6])
    assert pairs.probability.tolist() == pytest.approx([0.9])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 1], [2]), "got 2, 1, 2 and 2"),
        (([0], [0]), "pair 0 prefers row 0 to itself"),
        (([0], [1], [1.5]), r"lie in \[0, 1\], got 1.5 in pair 0"),
        (([0], [1], [np.nan]), "got nan in pair 0"),
        (([0], [1], [1], [-1]), "finite and >= 0, got -1.0 in pair 0"),
        (([0.5], [1]), "rows must be whole numbers, got 0.5 in pair 0"),
        (([0], [np.nan]), "rows must be whole numbers, got nan in pair 0"),
        ((["x"], [1]), "rows must be whole numbers, got dtype <U1"),
    ],
)
def test_wrong_pairs(columns, message):
    with pytest.raises(ValueError, match=message):
        Pairs(*columns)


def test_no_pairs():
    assert len(Pairs([], [])) == 0
