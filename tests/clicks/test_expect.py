"""Expected counts against the enumeration of everything a reader could have done, on pages of four."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.pbm import PBM
from rankloop.data import RankingDataset

K = 4


def stories(model, values):
    """(probability, clicks, tosses) of every way to read the page; a toss is (coin, entry, came up)."""

    def toss(coin, entry):
        p = values[coin][entry]
        return (p, (coin, entry, 1)), (1 - p, (coin, entry, 0))

    def read(rank, p, made, tosses):
        for chance, drawn in toss("attraction", rank):
            clicked = drawn[2]
            now = (*made, clicked)
            if rank == K - 1:  # nothing below: no decision to read on
                yield p * chance, now, [*tosses, drawn]
                continue
            for more, onward, extra in after(rank, clicked):
                if onward:
                    yield from read(rank + 1, p * chance * more, now, [*tosses, drawn, *extra])
                else:
                    yield p * chance * more, now + (0,) * (K - len(now)), [*tosses, drawn, *extra]

    def after(rank, clicked):
        if model == "dbn":
            satisfied = toss("satisfaction", rank) if clicked else ((1.0, None),)
            for chance, drawn in satisfied:
                if drawn is not None and drawn[2]:
                    yield chance, False, [drawn]
                    continue
                known = [] if drawn is None else [drawn]
                for more, go in toss("continuation", 0):
                    yield chance * more, go[2] == 1, [*known, go]
        elif model == "dcm":
            if not clicked:
                yield 1.0, True, []
                return
            for more, go in toss("continuation", rank):
                yield more, go[2] == 1, [go]
        elif clicked:
            for chance, good in toss("attraction", rank):
                for more, go in toss("after_good" if good[2] else "after_poor", 0):
                    yield chance * more, go[2] == 1, [good, go]
        else:
            for more, go in toss("after_skip", 0):
                yield more, go[2] == 1, [go]

    yield from read(0, 1.0, (), [])


def brute_force(model, values, page):
    total, successes, tosses = 0.0, defaultdict(float), defaultdict(float)
    for p, made, coins in stories(model, values):
        if made != page:
            continue
        total += p
        for coin, entry, up in coins:
            successes[coin, entry] += p * up
            tosses[coin, entry] += p
    return total, {key: (successes[key] / total, tosses[key] / total) for key in tosses}


def log_of(*pages):
    n = len(pages)
    return ClickLog(
        np.repeat(np.arange(n), K),
        np.zeros(n * K, int),
        np.tile(np.arange(K), n),
        np.tile(np.arange(1, K + 1), n),
        np.array(pages).reshape(-1),
    )


CHANCE = st.floats(0.02, 0.98)
SIZES = {
    "dbn": {"attraction": K, "satisfaction": K, "continuation": 1},
    "dcm": {"attraction": K, "continuation": K},
    "ccm": {"attraction": K, "after_skip": 1, "after_poor": 1, "after_good": 1},
}


@pytest.mark.parametrize("model", SIZES)
@given(data=st.data())
def test_tails_equal_brute_force(model, data):
    """Catches a continuation whose expected counts are read from the wrong documents."""
    values = {
        name: np.array(data.draw(st.lists(CHANCE, min_size=size, max_size=size)))
        for name, size in SIZES[model].items()
    }
    page = tuple(data.draw(st.lists(st.integers(0, 1), min_size=K, max_size=K)))
    problem = clicks.model(model)()._problem(Evidence.of(log_of(page), None))
    value, counts = problem.expect(values)
    probability, wanted = brute_force(model, values, page)
    assert value == pytest.approx(np.log(probability), abs=1e-9)
    for name, size in SIZES[model].items():
        for entry in range(size):
            found = counts[name][0][entry], counts[name][1][entry]
            assert found == pytest.approx(wanted.get((name, entry), (0.0, 0.0)), abs=1e-9)


@given(
    st.lists(CHANCE, min_size=3, max_size=3),
    st.lists(CHANCE, min_size=2, max_size=2),
    st.integers(0, 2**12 - 1),
)
def test_gradient_is_the_slope_of_the_likelihood(attraction, sight, bits):
    """Fisher's identity against finite differences, for the position-based counts."""
    click = [(bits >> i) & 1 for i in range(12)]
    document = [0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0]
    log = ClickLog(np.repeat(np.arange(6), 2), [0] * 12, document, [1, 2] * 6, click)
    expect = PBM()._problem(Evidence.of(log, None)).expect
    point = {"attraction": np.array(attraction), "examination": np.array(sight)}
    _, counts = expect(point)
    for name, p in point.items():
        successes, tosses = counts[name]
        for i in range(len(p)):
            logit, step = np.log(p[i] / (1 - p[i])), 1e-5
            sides = []
            for move in (step, -step):
                moved = {key: value.copy() for key, value in point.items()}
                moved[name][i] = 1 / (1 + np.exp(-(logit + move)))
                sides.append(expect(moved)[0])
            slope = (sides[0] - sides[1]) / (2 * step)
            assert successes[i] - tosses[i] * p[i] == pytest.approx(slope, abs=1e-5)


def test_long_pages_do_not_underflow():
    """A thousand unclicked documents: e^-693 and beyond stays a finite logarithm."""
    n = 2000
    log = ClickLog([0] * n, [0] * n, np.arange(n), np.arange(1, n + 1), np.zeros(n, int))
    for model, rest in (("dbn", {"continuation": np.ones(1)}), ("dcm", {"continuation": np.full(n, 0.5)})):
        problem = clicks.model(model)()._problem(Evidence.of(log, None))
        values = {**problem.start, **rest, "attraction": np.full(n, 0.5)}
        value, counts = problem.expect(values)
        assert value == pytest.approx(n * np.log(0.5))
        np.testing.assert_allclose(counts["attraction"][1], 1.0)


def test_all_vectors_of_a_dbn_agree_with_the_public_likelihood():
    values = {"attraction": [0.3, 0.6, 0.2, 0.8], "satisfaction": [0.5, 0.1, 0.7, 0.4], "continuation": [0.8]}
    values = {name: np.array(value) for name, value in values.items()}
    user = clicks.DBN(**{name: value if len(value) > 1 else value[0] for name, value in values.items()})
    # The tables are by grade: document i has grade i.
    data = RankingDataset.from_groups(np.zeros((K, 1)), np.arange(K), [K], qid=[0])
    for page in product((0, 1), repeat=K):
        total, _ = brute_force("dbn", values, page)
        assert np.exp(user.log_likelihood(log_of(page), data)[0]) == pytest.approx(total, abs=1e-12)
