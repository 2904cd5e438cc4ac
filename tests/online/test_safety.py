"""Floors hold on every page, gates keep their promise, alarms ring, learners go back."""

from itertools import permutations

import numpy as np
import pytest

from rankloop.online import PDGD, DriftAlarm, Gate, Safe, exposure_share
from rankloop.rankers.linear_ranker import LinearRanker


class ByWeights:
    def __init__(self, weights):
        self.weights = np.array(weights)

    def predict(self, X):
        return X @ self.weights


@pytest.mark.parametrize("floor", [0.0, 0.5, 0.9, 1.0])
def test_no_page_is_below_the_floor(floor):
    random = np.random.default_rng(0)
    production = ByWeights([1.0, 0.0, 0.0])
    safe = Safe(PDGD(LinearRanker(), seed=0), production, floor=floor)
    curve = 1 / np.log2(2.0 + np.arange(6))
    for _ in range(100):
        X = random.normal(size=(12, 3)).astype(np.float32)
        page = safe.rank(X, k=6)
        wanted = np.argsort(-production.predict(X), kind="stable")[:6]
        assert exposure_share(page.shown, wanted, curve) >= floor - 1e-12
        safe.learn(page, X[page.shown, 1] > 1)


def test_learning_under_the_floor_is_pdgd_given_safety():
    """A pair counts exactly if the page with the two swapped is safe too."""
    production = np.arange(4)
    curve = np.array([1.0, 0.6, 0.4, 0.3])
    safe = Safe(PDGD(LinearRanker()), ByWeights([1.0]), floor=0.75, curve=curve)
    for shown in permutations(range(6), 4):
        allowed = safe._allowed(np.array(shown), production, curve)
        for a in range(4):
            for b in range(a + 1, 4):
                swapped = list(shown)
                swapped[a], swapped[b] = swapped[b], swapped[a]
                assert allowed[a, b] == (exposure_share(swapped, production, curve) >= 0.75 - 1e-12)


def test_a_safe_learner_still_learns():
    """Production ranks by the first feature, people want the second: found within the floor."""
    random = np.random.default_rng(1)
    learner = PDGD(LinearRanker(), seed=0)
    safe = Safe(learner, ByWeights([1.0, 0.0]), floor=0.5)
    for _ in range(1500):
        X = random.normal(size=(10, 2)).astype(np.float32)
        page = safe.rank(X, k=5)
        safe.learn(page, X[page.shown, 1] > 0.8)
    assert learner.model.parameters[1] > 0.3


def test_an_alarm_takes_the_learner_back():
    learner = PDGD(LinearRanker(), seed=0)
    safe = Safe(learner, ByWeights([1.0, 0.0]), floor=0.0, alarm=DriftAlarm(normal=0.5), snapshot_every=50)
    random = np.random.default_rng(2)
    for page_number in range(600):
        X = random.normal(size=(10, 2)).astype(np.float32)
        page = safe.rank(X, k=5)
        good_times = page_number < 300
        safe.learn(page, [good_times and page_number % 2 == 0, 0, 0, 0, 0])
    assert safe.rollbacks >= 1
    assert learner.pages < 600


def test_production_pages_make_no_snapshots():
    """Where nothing is learned, the state to go back to stays the one before the last."""
    safe = Safe(PDGD(LinearRanker(), seed=0), ByWeights([1.0, 0.0]), floor=0.0, snapshot_every=10)
    random = np.random.default_rng(5)

    def serve(pages):
        for _ in range(pages):
            page = safe.rank(random.normal(size=(10, 2)), k=5)
            safe.learn(page, page.X[page.shown, 1] > 0.5)

    serve(20)
    assert [one["pages"] for one in safe._good] == [10, 20]
    safe.floor = 1.1  # no page is safe enough: production's is shown
    serve(3)
    assert safe.fallbacks == 3
    assert [one["pages"] for one in safe._good] == [10, 20]


def test_a_resumed_safe_learner_is_the_same(tmp_path):
    """Half of the pages in another object: pages, weights, alarm, fallbacks and the way back are equal."""

    def made(seed):
        return Safe(
            PDGD(LinearRanker(), seed=seed),
            ByWeights([1.0, 0.0]),
            floor=0.6,
            tries=3,
            alarm=DriftAlarm(normal=0.9),
            snapshot_every=15,
        )

    def serve(safe, random, pages):
        for _ in range(pages):
            page = safe.rank(random.normal(size=(10, 2)), k=5)
            safe.learn(page, page.X[page.shown, 1] > 0.8)

    whole, half, random, same = made(0), made(0), np.random.default_rng(6), np.random.default_rng(6)
    serve(whole, random, 70)
    serve(half, same, 40)
    half.save(tmp_path / "safe.zip")
    again = made(99)
    again.load(tmp_path / "safe.zip")
    serve(again, same, 30)
    assert whole.fallbacks > 0
    assert whole.alarm.sum > 0
    for kept in ("fallbacks", "proposals_below", "rollbacks"):
        assert getattr(again, kept) == getattr(whole, kept)
    assert again.alarm.sum == whole.alarm.sum
    assert np.array_equal(again.learner.model.parameters, whole.learner.model.parameters)
    whole.rollback()
    again.rollback()
    assert again.learner.pages == whole.learner.pages
    assert np.array_equal(again.learner.model.parameters, whole.learner.model.parameters)
    with pytest.raises(ValueError, match="holds a 'safe' learner, this is 'pdgd'"):
        PDGD(LinearRanker()).load(tmp_path / "safe.zip")


def test_false_alarms_are_rare_and_real_ones_quick():
    """30 runs of 1,000 normal pages: at most 6 alarms; a fall from 50 % to 30 % is seen within 250 pages."""
    random = np.random.default_rng(3)
    false, delays = 0, []
    for _ in range(30):
        alarm = DriftAlarm(normal=0.5)
        false += any(alarm.update(float(x)) for x in random.random(1000) < 0.5)
        alarm.reset()
        rings = [i for i, x in enumerate(random.random(1000) < 0.3) if alarm.update(float(x))]
        delays.append(rings[0])
    assert false <= 6
    assert np.median(delays) < 250


def test_the_gate_does_not_open_for_an_equal():
    """200 equal challengers, looked at ten times: at most 5 % (+ 3 s.e.) ever open the gate."""
    random = np.random.default_rng(4)
    opened = 0
    for _ in range(200):
        credits = random.choice([-0.1, 0.9], size=500, p=[0.9, 0.1])
        opened += any(Gate().decide(credits[:n]).deploy for n in range(50, 501, 50))
    assert opened / 200 <= 0.05 + 3 * 0.0154


def test_the_gate_opens_for_a_better_and_rejects_a_worse():
    better = np.array([1] * 300 + [-1] * 200)
    assert Gate().decide(np.random.default_rng(0).permutation(better)).deploy
    assert Gate().decide(-np.random.default_rng(0).permutation(better)).reject
    assert not Gate().decide([]).deploy
    assert Gate(margin=0.2, no_worse=True).decide(np.tile([1, -1], 400)).deploy


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Safe(PDGD(LinearRanker()), ByWeights([1]), floor=1.5), "floor is a share"),
        (lambda: DriftAlarm(normal=3), "share in"),
        (lambda: Gate(margin=1.7), "margin lies in"),
        (lambda: Safe(PDGD(LinearRanker()), ByWeights([1, 1]), curve=[1.0]).rank(np.eye(2)), "has 1 ranks"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
