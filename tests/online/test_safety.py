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
    assert "rewards are below 0.5" in safe.last_alarm
    assert "pages is not known, and few people may have made it: give update(user=)" in safe.last_alarm


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
    """300 runs of 500 pages, a twentieth of those apart: at most 5 % (+ 3 s.e.), whatever the usual share."""
    random = np.random.default_rng(3)
    for normal in (0.03, 0.5, 0.95):
        rang = 0
        for _ in range(300):
            alarm = DriftAlarm(normal=normal)
            rang += any(alarm.update(float(x)) for x in random.random(500) < normal)
        assert rang / 300 <= 0.05 + 3 * 0.0126
    delays = []
    for _ in range(30):
        alarm = DriftAlarm(normal=0.5)
        rings = [i for i, x in enumerate(random.random(1000) < 0.3) if alarm.update(float(x))]
        delays.append(rings[0])
    assert np.median(delays) < 250


def test_bets_are_fair_by_hand():
    """Normal 0.5, shift 0.25: a page without a click pays 1.25, one with a click 0.75."""
    alarm = DriftAlarm(normal=0.5)
    alarm.update(0.0)
    assert alarm.sum == pytest.approx(1.25)
    alarm.update(1.0)
    assert alarm.sum == pytest.approx(2.25 * 0.75)
    graded = DriftAlarm(normal=2.0, spread=1.0, most=4.0)
    graded.update(1.0)
    assert graded.sum == pytest.approx(1 + 0.25 * (2 - 1))


def test_one_person_counts_once_in_a_thousand_pages():
    alarm = DriftAlarm(normal=0.5)
    for _ in range(900):
        alarm.update(0.0, user="bot")
    assert alarm.sum == pytest.approx(1.25)
    for page in range(200):
        alarm.update(1.0, user=page)
    before = alarm.sum
    alarm.update(0.0, user="bot")  # page 1,101: it counts again
    assert alarm.sum == pytest.approx((before + 1) * 1.25)
    assert len(alarm._lately) <= 1000


def test_an_alarm_says_what_else_can_make_it():
    """Without people, or without the usual reward of the hour, it says so; with both it does not."""
    alarm = DriftAlarm(normal=0.5)
    assert "not shown to be below 0.5" in alarm.reason
    for page in range(100):
        alarm.update(0.0, user=page, normal=0.5)
    assert alarm.reason == "rewards are below 0.5: by chance once in 10,000 pages"
    alarm.update(0.0, normal=0.5)
    assert "the person of 1 of 101 pages is not known" in alarm.reason
    assert "normal=" not in alarm.reason
    alone = DriftAlarm(normal=0.5)
    alone.update(0.0, user="a")
    assert "give that of the hour, update(normal=)" in alone.reason
    assert "user=" not in alone.reason


def test_a_rhythm_that_is_known_is_no_drift():
    """Nights with 10 % and days with 50 %: the mean of the day rings, the usual share of the hour not."""
    random = np.random.default_rng(8)
    rang = {"hour": 0, "day": 0}
    for _ in range(40):
        alarms = {name: DriftAlarm(normal=0.3) for name in rang}
        rings = dict.fromkeys(rang, False)
        for page in range(400):
            usual = 0.5 if page < 200 else 0.1
            click = float(random.random() < usual)
            rings["hour"] |= alarms["hour"].update(click, normal=usual)
            rings["day"] |= alarms["day"].update(click)
        for name, one in rings.items():
            rang[name] += one
    assert rang["hour"] <= 5
    assert rang["day"] == 40


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
        (lambda: DriftAlarm(normal=0.5, most=0.4), "lies above normal"),
        (lambda: DriftAlarm(normal=0.5).update(3.0), "set most="),
        (lambda: Gate(margin=1.7), "margin lies in"),
        (lambda: Safe(PDGD(LinearRanker()), ByWeights([1, 1]), curve=[1.0]).rank(np.eye(2)), "has 1 ranks"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
