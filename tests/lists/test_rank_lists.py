"""Ranks, orders, sums and best orders of lists against plain loops."""

import math
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop import _jit
from rankloop.lists import Gain, ideal_dcg, list_sums, mean_ranks, rank_lists, ranks, top_lists
from strategies import ragged_lists

NONE = np.zeros(0, np.float32)
SPREADS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "tied": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "huge": lambda rng, n: rng.choice([-1.7e308, 1.7e308, 0.0, 1.0], n),
    "tiny": lambda rng, n: rng.integers(0, 100, n) * 5e-324,
    "infinite": lambda rng, n: rng.choice([-np.inf, np.inf, 0.0, 1.0, 2.0], n),
}


def plain_order(values, offsets):
    """The rows of each list by falling value, by Python's stable sort."""
    rows = []
    for start, stop in pairwise(offsets):
        rows += sorted(range(start, stop), key=lambda row: -values[row])
    return rows


@contextmanager
def without_machine_code():
    before = _jit._INTERPRETED.set(True)
    try:
        yield
    finally:
        _jit._INTERPRETED.reset(before)


@pytest.mark.parametrize("spread", SPREADS)
@given(lengths=st.lists(st.integers(0, 120), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_orders_are_those_of_a_stable_sort(spread, lengths, seed):
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = SPREADS[spread](np.random.default_rng(seed), offsets[-1])
    assert rank_lists(values, offsets).tolist() == plain_order(values, offsets.tolist())
    with without_machine_code():
        assert rank_lists(values, offsets).tolist() == plain_order(values, offsets.tolist())


@given(ragged_lists(), st.none() | st.integers(1, 12), st.booleans())
def test_the_top_of_lists_is_the_top_of_their_order(lists, depth, average):
    scores, labels, offsets = (np.asarray(part) for part in lists)
    scores, labels, offsets = scores.astype(float), labels.astype(np.float32), offsets.astype(np.int64)
    order, found = (
        rank_lists(scores, offsets),
        top_lists(scores, labels, NONE, offsets, depth, average=average),
    )
    for q, (start, stop) in enumerate(pairwise(offsets)):
        kept, at = found.kept[q], found.start[q]
        rows = order[start : start + kept]
        assert kept >= min(stop - start, depth or stop - start)
        assert found.labels[at : at + kept].tolist() == labels[rows].tolist()
        ties = scores[rows][1:] == scores[rows][:-1]
        assert found.tied[at : at + kept][1:].tolist() == (ties & average).tolist()
        assert kept == stop - start or scores[order[start + kept]] < scores[rows[-1]]


@pytest.mark.parametrize("spread", SPREADS)
@given(
    lengths=st.lists(st.integers(0, 150), min_size=1, max_size=5),
    depth=st.integers(1, 25),
    seed=st.integers(0, 99),
)
def test_the_top_of_long_lists_is_picked_with_all_that_ties(spread, lengths, depth, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    scores = np.asarray(SPREADS[spread](rng, offsets[-1]), np.float64)
    labels, weight = (
        rng.permutation(offsets[-1]).astype(np.float32) for _ in range(2)
    )  # tell documents apart
    found, order = top_lists(scores, labels, weight, offsets, depth), plain_order(scores, offsets.tolist())
    for q, (start, stop) in enumerate(pairwise(offsets.tolist())):
        kept = min(depth, stop - start)
        while start + kept < stop and scores[order[start + kept]] == scores[order[start + kept - 1]]:
            kept += 1
        assert found.kept[q] == kept
        place, rows = slice(found.start[q], found.start[q] + kept), order[start : start + kept]
        assert found.labels[place].tolist() == labels[rows].tolist()
        assert found.weight[place].tolist() == weight[rows].tolist()
        assert found.tied[place].tolist() == [
            i > 0 and scores[row] == scores[rows[i - 1]] for i, row in enumerate(rows)
        ]


@given(ragged_lists(), st.none() | st.integers(1, 6), st.sampled_from(["exp2", "linear", (0, 1, 3, 3, 9)]))
def test_the_best_order_has_the_highest_gains_first(lists, k, option):
    _, labels, offsets = (np.asarray(part) for part in lists)
    labels, offsets = np.minimum(labels, 4).astype(np.float32), offsets.astype(np.int64)
    for scale, weight in (
        (1.0, NONE),
        (0.5, NONE),
        (1.0, np.linspace(0.5, 2, len(labels)).astype(np.float32)),
    ):
        if scale != 1.0 and not isinstance(option, str):
            continue  # a table has no labels between grades
        own = (scale * labels).astype(np.float32)
        amounts = Gain.of(option, own)(own) * (weight if len(weight) else 1.0)
        expected = [
            math.fsum(
                gain / math.log2(1 + rank)
                for rank, gain in enumerate(sorted(amounts[start:stop], reverse=True), start=1)
                if k is None or rank <= k
            )
            for start, stop in pairwise(offsets)
        ]
        found = ideal_dcg(own, offsets, option, k, weight)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        if not len(weight):  # with weights, machine code multiplies in double precision
            with without_machine_code():
                assert ideal_dcg(own, offsets, option, k).tolist() == found.tolist()


def test_ranks_and_sums():
    offsets = np.array([0, 2, 2, 5])
    assert ranks(offsets).tolist() == [1, 2, 1, 2, 3]
    assert ranks(offsets, np.int32).dtype == np.int32
    assert list_sums(np.arange(5.0), offsets).tolist() == [1, 0, 9]
    made = mean_ranks(np.array([1.0, 1.0, 3.0, np.nan, 3.0]), offsets)
    np.testing.assert_array_equal(made, [1.5, 1.5, 1.5, np.nan, 1.5])
