"""Pages drawn by a race and by alias tables: the same distribution, whatever the list."""

import sys
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from rankloop.clicks import simulate
from rankloop.clicks.simulation.race import LONGEST, handicaps, race
from rankloop.clicks.simulation.random import exponential, skip, stream, uniform, uniform_at
from rankloop.data import RankingDataset

N = 80_000
LOGITS = np.array([0.3, -1.5, 1.0, 2.2, -0.4])


def chances(logits, k):
    """The chance of every ranking of k documents, in plain loops."""
    found = {}
    for order in permutations(range(len(logits)), k):
        left, p = list(range(len(logits))), 1.0
        for d in order:
            p *= np.exp(logits[d] - logits[left].max()) / np.exp(logits[left] - logits[left].max()).sum()
            left.remove(d)
        found[order] = p
    return found


def start(key, page):
    """Kernels that are called from Python give back whole numbers without their size."""
    return np.uint64(stream(np.uint64(key), np.uint64(page)))


@pytest.mark.parametrize("way", ["race", "urn", "noise"])
def test_every_ranking_has_its_chance(way, monkeypatch):
    logits = LOGITS
    if way == "urn":
        monkeypatch.setattr(sys.modules["rankloop.clicks.simulation.race"], "LONGEST", 2)
    if way == "noise":  # the last three have no share that a number could hold beside the first two
        logits = LOGITS - np.array([0, 0, 800.0, 800.0, 800.0])
    assert (handicaps(logits, np.array([0, 5]))[0] > 0) == (way == "race")
    data = RankingDataset.from_groups(np.zeros((5, 1)), np.zeros(5), [5])
    log = simulate(data, logging_policy=2 * logits, sessions=N, k=4, temperature=2.0, seed=7)
    seen = Counter(map(tuple, log.document.reshape(-1, 4).tolist()))
    surprise = 0.0
    for order, p in chances(logits, 4).items():
        if p == 0.0:
            assert order not in seen
            continue
        assert abs(seen[order] - N * p) < 5 * np.sqrt(N * p * (1 - p)) + 1
        surprise += (seen[order] - N * p) ** 2 / (N * p) if N * p > 5 else 0.0
    assert surprise < 185  # of at most 119 degrees of freedom: one run in ten thousand


def test_long_lists_show_the_first_with_their_share():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=300)
    data = RankingDataset.from_groups(np.zeros((300, 1)), np.zeros(300), [LONGEST, 300 - LONGEST])
    log = simulate(data, logging_policy=logits, sessions=N, k=3, temperature=1.0, seed=1)
    first = np.bincount(log.document[log.position == 1], minlength=300)
    for a, b in ((0, LONGEST), (LONGEST, 300)):
        pages = first[a:b].sum()
        share = np.exp(logits[a:b]) / np.exp(logits[a:b]).sum()
        surprise = np.sum((first[a:b] - pages * share) ** 2 / (pages * share))
        assert abs(surprise - (b - a - 1)) < 4 * np.sqrt(2 * (b - a))


def test_a_race_is_a_sort_of_exponential_times():
    """Also where two times differ in the lower half of their bits only."""
    rng = np.random.default_rng(1)
    scratch = (np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int32), np.empty(LONGEST, np.int32))
    alike = 0
    for length, runs in ((1, 3), (7, 200), (LONGEST, 20_000)):
        handicap = handicaps(rng.normal(size=length), np.array([0, length]))
        rows = np.empty(min(length, 10), np.int32)
        for page in range(runs):
            state = start(3, page)
            u = np.array([uniform_at(state, np.uint64(i + 1)) for i in range(length)]) if page < 20 else None
            after = race(state, 0, length, handicap, *scratch, rows)
            time = scratch[0][:length].view(np.float64)
            if u is not None:
                np.testing.assert_allclose(time, -np.log(u + 2**-54) * handicap, rtol=1e-9)
            np.testing.assert_array_equal(rows, np.argsort(time)[: len(rows)])
            alike += len(set(scratch[1][:length].tolist())) < length
            assert after == skip(state, np.uint64(length))
    assert alike > 0


def test_exponential_numbers():
    state = start(0, 0)
    drawn = np.array([exponential(state, np.uint64(i + 1)) for i in range(N)])
    u = np.array([uniform_at(state, np.uint64(i + 1)) for i in range(N)])
    assert drawn.min() > 0
    small = u > 0.01  # the last bit of u, which the other does not have, is worth less there
    np.testing.assert_allclose(drawn[small], -np.log(u[small]), rtol=0, atol=2e-14)
    assert abs(drawn.mean() - 1) < 4 / np.sqrt(N)
    assert abs((drawn**2).mean() - 2) < 4 * np.sqrt(20 / N)


def test_numbers_by_place_are_those_in_turn():
    state = start(5, 6)
    later = state
    for n in range(1, 5):
        later, u = uniform(np.uint64(later))
        assert uniform_at(state, np.uint64(n)) == u
        assert skip(state, np.uint64(n)) == later
