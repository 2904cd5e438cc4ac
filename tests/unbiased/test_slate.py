"""Slate estimators against the enumeration of all pages."""

from itertools import permutations, product

import numpy as np
import pytest

from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased import PlackettLuce, slate

DOCS, K = 4, 2
DATA = RankingDataset.from_groups(np.zeros((DOCS, 1)), np.zeros(DOCS), [DOCS])
OLD, NEW = np.array([0.5, 0.0, -0.3, 0.2]), np.array([-0.5, 1.0, 0.4, 0.0])
GAMMA = np.array([0.2, 0.9, 0.5, 0.4])


def chance_of(scores, page):
    left, chance = np.exp(scores).copy(), 1.0
    for document in page:
        chance *= left[document] / left.sum()
        left[document] = 0
    return chance


def cascade(page):
    """Expected reward at each rank: the second is looked at only after no click on the first."""
    return np.array([GAMMA[page[0]], (1 - GAMMA[page[0]]) * GAMMA[page[1]]])


def simulated(n=60_000, seed=0):
    rng = np.random.default_rng(seed)
    pages = list(permutations(range(DOCS), K))
    drawn = rng.choice(len(pages), n, p=[chance_of(OLD, page) for page in pages])
    shown = np.array(pages)[drawn]
    first = rng.random(n) < GAMMA[shown[:, 0]]
    second = ~first & (rng.random(n) < GAMMA[shown[:, 1]])
    click = np.stack([first, second], 1).astype(int).ravel()
    return ClickLog(np.repeat(np.arange(n), K), np.ones(n * K, int), shown.ravel(), np.tile([1, 2], n), click)


def test_conditional_chances_multiply_to_the_page():
    for page in permutations(range(DOCS), K):
        log = ClickLog([0] * K, [1] * K, list(page), [1, 2], [0, 0])
        assert PlackettLuce(DATA, NEW).conditional(log).prod() == pytest.approx(chance_of(NEW, page))


@pytest.mark.parametrize("method", ["standard", "reward_interaction", "cascade_dr"])
def test_cascade_people_are_valued_right(method):
    log = simulated()
    truth = sum(chance_of(NEW, page) * cascade(page).sum() for page in permutations(range(DOCS), K))
    old, new = PlackettLuce(DATA, OLD), PlackettLuce(DATA, NEW)
    target, mean = new.expectation(log, GAMMA * 0.7)
    baseline = (GAMMA[log.document] * 0.7, mean) if method == "cascade_dr" else None
    found = slate(log, target, logged=old.conditional(log), method=method, baseline=baseline)
    assert abs(found.value - truth) < 4 * (found.high - found.low) / 3.92
    assert abs(found.value - truth) < 0.03 * truth
    assert any("over pages" in one for one in found.warnings)


def test_estimators_are_unbiased_by_enumeration():
    """Every page once, weighed by its chance: the expectation itself."""
    truth = sum(chance_of(NEW, page) * cascade(page).sum() for page in permutations(range(DOCS), K))
    old, new = PlackettLuce(DATA, OLD), PlackettLuce(DATA, NEW)
    total = {"standard": 0.0, "reward_interaction": 0.0, "cascade_dr": 0.0}
    for page in permutations(range(DOCS), K):
        log = ClickLog([0] * K, [1] * K, list(page), [1, 2], [1, 1])
        target, mean = new.expectation(log, GAMMA)
        for method in total:  # clicks are 1, so that `weight` carries the expected rewards
            reward = cascade(page)
            if method == "cascade_dr":
                guess = 0.3 * GAMMA[list(page)]
                found = slate(
                    log,
                    target,
                    logged=old.conditional(log),
                    method=method,
                    baseline=(guess, 0.3 * mean),
                    weight=reward,
                )
            else:
                found = slate(log, target, logged=old.conditional(log), method=method, weight=reward)
            total[method] += chance_of(OLD, page) * found.value
    assert total == pytest.approx(dict.fromkeys(total, truth))


def test_independent_ratios_suffice_for_position_based_people():
    rng = np.random.default_rng(1)
    log = simulated(40_000, seed=2)
    theta = np.array([1.0, 0.5])
    click = (rng.random(len(log)) < theta[log.position - 1] * GAMMA[log.document]).astype(int)
    log = ClickLog(log.session, log.query, log.document, log.position, click)
    truth = sum(
        chance_of(NEW, page) * (theta * GAMMA[list(page)]).sum() for page in permutations(range(DOCS), K)
    )
    old, new = (PlackettLuce(DATA, one).marginal(log, samples=20_000) for one in (OLD, NEW))
    found = slate(log, new, logged=old, method="independent")
    assert found.value == pytest.approx(truth, rel=0.02)
    pages = {}
    for method in ("standard", "reward_interaction"):
        ask = [PlackettLuce(DATA, one).conditional(log) for one in (NEW, OLD)]
        pages[method] = slate(log, ask[0], logged=ask[1], method=method)
    width = lambda one: one.high - one.low  # noqa: E731
    assert width(found) < width(pages["reward_interaction"]) < width(pages["standard"])
    normal = slate(log, ask[0], logged=ask[1], method="reward_interaction", self_normalised=True)
    assert normal.value == pytest.approx(truth, rel=0.03)


def test_mistakes_are_explained():
    log = simulated(10)
    good = np.full(20, 0.5)
    with pytest.raises(ValueError, match="column propensity"):
        slate(log, good)
    with pytest.raises(ValueError, match="one probability per impression"):
        slate(log, [0.5], logged=good)
    with pytest.raises(ValueError, match="has probability 0"):
        slate(log, good, logged=0 * good)
    with pytest.raises(ValueError, match="baseline"):
        slate(log, good, logged=good, method="cascade_dr")
    with pytest.raises(ValueError, match="did you mean 'standard'"):
        slate(log, good, logged=good, method="standrad")
    with pytest.raises(ValueError, match="temperature"):
        PlackettLuce(DATA, OLD, temperature=0.0)
    with pytest.raises(ValueError, match="one per row"):
        PlackettLuce(DATA, OLD[:2]).conditional(log)
    assert any("different pages" in one for one in slate(log, good, logged=good).warnings)


def test_a_policy_is_asked_for_its_probabilities():
    log = ClickLog([1, 1], [0, 0], [0, 1], [1, 2], [0, 1])
    policy = PlackettLuce(DATA, OLD)
    for target, logged in ((policy, [0.5, 0.5]), ([0.5, 0.5], policy)):
        with pytest.raises(ValueError, match=r"target=|logged=.*PlackettLuce.*\.conditional\(log\)"):
            slate(log, target, logged=logged)


def test_an_additive_control_is_unbiased_and_quieter():
    """Every log of four pages of one rank is enumerated; the control of a half comes from the other half."""
    old, new, gamma = np.array([0.6, 0.4]), np.array([0.1, 0.9]), np.array([0.7, 0.2])
    pages = [(d, c, old[d] * (gamma[d] if c else 1 - gamma[d])) for d in (0, 1) for c in (0, 1)]
    truth = float(new @ gamma)
    values: dict[str, list[tuple[float, float]]] = {"plain": [], "additive": [], "normalised": []}
    for four in product(pages, repeat=4):
        chance = float(np.prod([one[2] for one in four]))
        shown = np.array([one[0] for one in four])
        log = ClickLog(np.arange(4), [0] * 4, shown, [1] * 4, [one[1] for one in four])
        for name, how in (
            ("plain", {}),
            ("additive", {"additive": True}),
            ("normalised", {"self_normalised": True}),
        ):
            found = slate(log, new[shown], logged=old[shown], method="standard", **how)
            values[name].append((chance, found.value))
    mean = {name: sum(p * v for p, v in some) for name, some in values.items()}
    assert mean["plain"] == pytest.approx(truth, abs=1e-12)
    assert mean["additive"] == pytest.approx(truth, abs=1e-12)
    assert abs(mean["normalised"] - truth) > 0.001  # dividing by the mean weight is biased in small logs


def test_an_additive_control_is_quieter_than_none():
    old, new = PlackettLuce(DATA, OLD), PlackettLuce(DATA, NEW)
    spread = []
    for how in ({}, {"additive": True}):
        found = []
        for seed in range(60):
            log = simulated(400, seed)
            target = new.conditional(log)
            found.append(slate(log, target, logged=old.conditional(log), method="standard", **how).value)
        spread.append(np.std(found))
    assert spread[1] < 0.95 * spread[0]


def test_one_control_at_a_time():
    log = ClickLog([1, 2], ["q", "q"], ["a", "b"], [1, 1], [1, 0])
    with pytest.raises(ValueError, match="choose one"):
        slate(log, [0.5, 0.5], logged=[0.5, 0.5], method="standard", additive=True, self_normalised=True)
