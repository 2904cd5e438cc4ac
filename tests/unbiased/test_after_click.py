"""Rewards after clicks from the log of one fixed order: enumeration, coverage, and what cannot be said."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.clicks import DBN, PBM, ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased import after_click

THETA = np.array([1.0, 0.6, 0.3])
GAMMA = np.array([0.2, 0.9, 0.5])
CHANCE = np.array([0.8, 0.3, 0.5])  # of a conversion once clicked
ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2)]


def lists(*lengths):
    """Queries 0, 1, ... of these lengths; documents are row numbers."""
    rows = sum(lengths)
    return RankingDataset(np.zeros((rows, 1)), np.zeros(rows), np.repeat(np.arange(len(lengths)), lengths))


def outcomes(order):
    """Every page that the people could make of an order, with its probability."""
    for clicks in product((0, 1), repeat=3):
        for bought in product((0, 1), repeat=3):
            if any(b and not c for b, c in zip(bought, clicks, strict=True)):
                continue
            chance = 1.0
            for k, d in enumerate(order):
                p = THETA[k] * GAMMA[d]
                chance *= p if clicks[k] else 1 - p
                if clicks[k]:
                    chance *= CHANCE[d] if bought[k] else 1 - CHANCE[d]
            yield chance, clicks, bought


def truth(order):
    return sum(THETA[k] * GAMMA[d] * CHANCE[d] for k, d in enumerate(order))


def log_of(order, clicks, bought):
    return ClickLog([0] * 3, [0] * 3, list(order), [1, 2, 3], list(clicks), conversion=list(bought))


@pytest.mark.parametrize("new", ORDERS)
def test_the_ratio_is_unbiased(new):
    """The mean over everything that can happen on the logged page is the value of the new one."""
    scores, data = np.argsort(np.argsort([-new.index(d) for d in range(3)])), lists(3)
    mean = sum(
        chance
        * after_click(log_of(ORDERS[0], clicks, bought), data, scores.astype(float), propensity=THETA).value
        for chance, clicks, bought in outcomes(ORDERS[0])
    )
    assert mean == pytest.approx(truth(new), abs=1e-12)


@pytest.mark.parametrize("new", ORDERS)
def test_modelled_is_unbiased_where_its_model_is(new):
    data, scores = lists(3), np.array([-float(new.index(d)) for d in range(3)])
    pages = list(outcomes(ORDERS[0]))

    def mean(relevance, other):
        """Over one page, beside a page of another query that sets the mean reward."""
        more = lists(3, 1)
        total = 0.0
        for chance, clicks, bought in pages:
            log = ClickLog(
                [0, 0, 0, 1],
                [0, 0, 0, 1],
                [*ORDERS[0], 3],
                [1, 2, 3, 1],
                [*clicks, 1],
                conversion=[*bought, other],
            )
            found = after_click(
                log,
                more,
                np.append(scores, 0.0),
                propensity=THETA,
                method="modelled",
                relevance=np.append(relevance, 1.0),
            )
            # The other query has one document at rank 1 in both orders, of relevance 1 and clicked.
            total += chance * (2 * found.value - other)
        return total

    for other in (0.0, 1.0):  # the mean reward of a click is wrong in both ways
        assert mean(GAMMA, other) == pytest.approx(truth(new), abs=1e-12)
    assert abs(mean(np.full(3, 0.5), 1.0) - truth(new)) > 0.05
    with pytest.raises(ValueError, match="needs relevance="):
        after_click(
            log_of(ORDERS[0], (1, 0, 0), (0, 0, 0)), data, scores, propensity=THETA, method="modelled"
        )


def drawn(seed, queries=80, sessions=60):
    """Queries of three documents with their own relevance; one fixed order each."""
    rng = np.random.default_rng(seed)
    gamma = rng.beta(2, 3, size=(queries, 3))
    worth = rng.uniform(0.1, 0.9, size=(queries, 3))
    click = rng.random((queries, sessions, 3)) < THETA * gamma[:, None, :]
    bought = click & (rng.random(click.shape) < worth[:, None, :])
    page = np.repeat(np.arange(queries * sessions), 3)
    query = np.repeat(np.arange(queries), 3 * sessions)
    document = np.tile(np.arange(3 * queries).reshape(queries, 1, 3), (1, sessions, 1)).ravel()
    log = ClickLog(
        page,
        query,
        document,
        np.tile([1, 2, 3], queries * sessions),
        click.ravel().astype(int),
        conversion=bought.ravel().astype(float),
    )
    data = lists(*[3] * queries)
    value = (THETA[::-1] * gamma * worth).sum(axis=1).mean()
    return log, data, value, gamma


@pytest.mark.parametrize("method", ["ratio", "modelled"])
def test_intervals_cover(method):
    """Of queries like these; the value of all such queries is that of the reversed order's mean."""
    rng = np.random.default_rng(0)
    gamma, worth = rng.beta(2, 3, size=(200_000, 3)), rng.uniform(0.1, 0.9, size=(200_000, 3))
    whole = float((THETA[::-1] * gamma * worth).sum(axis=1).mean())
    hits = 0
    for seed in range(200):
        log, data, _, gamma = drawn(seed)
        relevance = gamma.ravel() if method == "modelled" else None
        scores = np.tile([0.0, 1.0, 2.0], 80)
        found = after_click(log, data, scores, propensity=THETA, method=method, relevance=relevance)
        hits += found.low <= whole <= found.high
    assert 180 <= hits <= 198  # 95 % of 200 is 190; both ends are 3 standard errors away


def test_a_click_model_gives_the_ratio():
    """By hand for a DBN whose people stop: 2 documents, swapped."""
    a, s = np.array([0.5, 0.4]), np.array([0.6, 0.2])
    data = RankingDataset(np.zeros((2, 1)), [0, 1], [0, 0])
    model = DBN(attraction=a, satisfaction=s, continuation=1.0)
    log = ClickLog([0, 0, 1, 1], [0] * 4, [0, 1, 0, 1], [1, 2] * 2, [1, 0, 0, 1], conversion=[1, 0, 0, 1])
    old = [a[0], (1 - a[0] * s[0]) * a[1]]
    new = [(1 - a[1] * s[1]) * a[0], a[1]]
    wanted = (new[0] / old[0] + new[1] / old[1]) / 2
    assert after_click(log, data, [0.0, 1.0], propensity=model).value == pytest.approx(wanted)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_beside_plain_loops(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, 4)
    data = lists(*lengths.tolist())
    theta = np.sort(rng.uniform(0.1, 1.0, 4))[::-1]
    scores = rng.permutation(lengths.sum()).astype(float)
    rows: list[tuple[int, int, int, int, int, float]] = []
    total, pages = 0.0, 6
    for page in range(pages):
        q = int(rng.integers(4))
        docs = rng.permutation(np.arange(data.offsets[q], data.offsets[q + 1]))[:3]
        own = scores[data.offsets[q] : data.offsets[q + 1]]
        for k, d in enumerate(docs):
            click = int(rng.random() < 0.5)
            money = click * float(rng.uniform(0, 9))
            rows.append((page, q, int(d), k + 1, click, money))
    depth = max(one[3] for one in rows)
    for _, q, d, k, _, money in rows:
        own = scores[data.offsets[q] : data.offsets[q + 1]]
        rank = int((own > scores[d]).sum())
        total += (theta[rank] if rank < depth else 0.0) / theta[k - 1] * money
    session, query, document, position, click, money = zip(*rows, strict=True)
    log = ClickLog(session, query, document, position, click)
    found = after_click(log, data, scores, propensity=theta, reward=np.array(money))
    assert found.value == pytest.approx(total / pages)


def test_what_was_never_shown_is_said():
    data = lists(4)
    log = ClickLog([0, 0], [0, 0], [0, 1], [1, 2], [1, 0], conversion=[1, 0])
    found = after_click(log, data, [0.0, 1.0, 3.0, 2.0], propensity=[1.0, 0.5])
    assert any(
        "100% of what the new ranking lets people see was never shown" in one for one in found.warnings
    )
    assert found.value == 0.0
    kept = after_click(log, data, [3.0, 2.0, 1.0, 0.0], propensity=[1.0, 0.5])
    assert not any("never shown" in one for one in kept.warnings)


def test_bad_input():
    log, data, _, _ = drawn(0, queries=25, sessions=4)
    scores = np.zeros(75)
    with pytest.raises(ValueError, match="no column 'dwell'"):
        after_click(log, data, scores, propensity=THETA, reward="dwell")
    with pytest.raises(ValueError, match="one number per impression"):
        after_click(log, data, scores, propensity=THETA, reward=[1.0])
    with pytest.raises(ValueError, match="without a click"):
        after_click(log, data, scores, propensity=THETA, reward=np.ones(len(log)))
    with pytest.raises(ValueError, match="one score per row"):
        after_click(log, data, scores[:3], propensity=THETA)
    with pytest.raises(ValueError, match="one number above 0 per rank"):
        after_click(log, data, scores, propensity=-THETA)
    with pytest.raises(ValueError, match="empty"):
        after_click(log.select([]), data, scores, propensity=THETA)
    fitted = PBM(examination=THETA, attraction=0.5)
    assert after_click(log, data, np.tile([2.0, 1.0, 0.0], 25), propensity=fitted).value == pytest.approx(
        log.conversion.sum() / log.n_pages
    )
