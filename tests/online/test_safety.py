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
        clicks = [good_times and page_number % 2 == 0, 0, 0, 0, 0]
        safe.learn(page, clicks, user=page_number, normal=0.5)
    assert safe.rollbacks >= 1
    assert learner.pages < 600
    assert "rewards are below 0.5" in safe.last_alarm


def test_a_doubt_rolls_nothing_back_and_keeps_the_state_before_it():
    """Nobody says who searches: rewards that are gone are a doubt; states are kept until it comes."""
    safe = Safe(
        PDGD(LinearRanker(), seed=0),
        ByWeights([1.0, 0.0]),
        floor=0.0,
        alarm=DriftAlarm(normal=0.5),
        snapshot_every=10,
    )
    random = np.random.default_rng(2)
    for page_number in range(600):
        page = safe.rank(random.normal(size=(10, 2)), k=5)
        safe.learn(page, [page_number < 300 and page_number % 2 == 0, 0, 0, 0, 0])
    assert safe.rollbacks == 0
    assert 300 <= safe._good[-1]["pages"] < 400
    assert "rewards seem to be below 0.5, which is no alarm: the person of" in safe.last_alarm
    safe.rollback()
    assert safe.alarm.seeming == 0


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
            safe.learn(page, page.X[page.shown, 1] > 0.8, user=random.random(), normal=0.9)

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
    assert (again.alarm.sum, again.alarm.seeming) == (whole.alarm.sum, whole.alarm.seeming)
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
            clicks = enumerate(random.random(500) < normal)
            rang += any(alarm.update(float(x), user=page, normal=normal) for page, x in clicks)
        assert rang / 300 <= 0.05 + 3 * 0.0126
    delays = []
    for _ in range(30):
        alarm = DriftAlarm(normal=0.5)
        clicks = enumerate(random.random(1000) < 0.3)
        rings = [page for page, x in clicks if alarm.update(float(x), user=page, normal=0.5)]
        delays.append(rings[0])
    assert np.median(delays) < 250


def test_bets_are_fair_by_hand():
    """Normal 0.5, shift 0.25: a page without a click pays 1.25, one with a click 0.75."""
    alarm = DriftAlarm(normal=0.5)
    alarm.update(0.0, user="a", normal=0.5)
    assert alarm.sum == pytest.approx(1.25)
    alarm.update(1.0, user="b", normal=0.5)
    assert alarm.sum == pytest.approx(2.25 * 0.75)
    graded = DriftAlarm(normal=2.0, spread=1.0, most=4.0)
    graded.update(1.0, user="a", normal=2.0)
    assert graded.sum == pytest.approx(1 + 0.25 * (2 - 1))


@pytest.mark.parametrize("bot", ["bot", None])
def test_one_person_counts_once_in_a_thousand_pages(bot):
    """And so do all pages whose person is not known."""
    alarm = DriftAlarm(normal=0.5)
    for _ in range(900):
        alarm.update(0.0, user=bot, normal=0.5)
    assert alarm.sum == pytest.approx(1.25)
    for page in range(200):
        alarm.update(1.0, user=page, normal=0.5)
    before = alarm.sum
    alarm.update(0.0, user=bot, normal=0.5)  # page 1,101: it counts again
    assert alarm.sum == pytest.approx((before + 1) * 1.25)
    assert len(alarm._lately) <= 1000


def test_active_people_who_click_more_raise_a_doubt_and_no_alarm():
    """40 runs as usual: the mean over pages is that of active people, and a person counts once."""
    random = np.random.default_rng(8)
    rang = doubted = 0
    for _ in range(40):
        active = random.random(2000) < 0.3
        who = random.permutation(np.repeat(np.arange(2000), np.where(active, 7, 1)))[:1500]
        rate = np.where(active, 0.6, 0.1)
        normal = float((rate * np.where(active, 7, 1)).sum() / np.where(active, 7, 1).sum())
        alarm = DriftAlarm(normal=normal)
        clicks = random.random(1500) < rate[who]
        steps = zip(clicks.tolist(), who.tolist(), strict=True)
        said = {alarm.update(float(click), user=one, normal=normal) for click, one in steps}
        rang += True in said
        doubted += None in said
        if alarm.sum > alarm.apart:
            assert "give the mean over people, of one page each, as normal" in alarm.reason
    assert rang == 0
    assert doubted > 30
    fallen = [alarm.update(0.0, user=-page, normal=normal) for page in range(1, 300)]
    assert fallen[-1] is True


def test_an_alarm_says_what_is_missing():
    """Without people, or without hour and day, rewards only seem to fall; with both they do."""
    alarm = DriftAlarm(normal=0.5)
    assert alarm.reason == "rewards are not shown to be below 0.5"
    found = [alarm.update(0.0, user=page, normal=0.5) for page in range(100)]
    assert found == sorted(found, key=bool)
    assert found[-1] is True
    assert alarm.reason == "rewards are below 0.5: by chance once in 10,000 pages"
    for missing, given in (("user=", {"normal": 0.5}), ("normal=", {"user": 0}), ("day=", {"user": 0})):
        alone = DriftAlarm(normal=0.5)
        found = [
            alone.update(0.0, **{**given, **({"user": i} if "user" in given else {})}) for i in range(99)
        ]
        assert found[0] is False
        assert found[-1] is None
        assert f"update({missing})" in alone.reason
        assert ("update(user=)" in alone.reason) == (missing == "user=")
        assert alone.reason.startswith("rewards seem to be below 0.5, which is no alarm: ")
        alone.reset()
        assert alone.reason.startswith("rewards are not shown to be below 0.5; ")


def test_whole_days_are_judged_when_they_end():
    """By hand, normal 0.5, shift 0.25: the first day may be a part and is left out."""
    alarm = DriftAlarm(normal=0.5)
    pages = [(0.0, "mon"), (0.0, "mon"), (0.0, "tue"), (0.0, "tue")]
    for person, (reward, day) in enumerate(pages):
        alarm.update(reward, user=person, day=day)
        assert alarm.sum == 0
    assert "the day has to end" in alarm.reason
    alarm.update(1.0, user="x", day="wed")
    assert alarm.sum == pytest.approx(2 * 1.25**2)
    alarm.update(1.0, user="y", day="thu")
    assert alarm.sum == pytest.approx((2 * 1.25**2 + 1) * 0.75)
    alarm.reset()  # in the middle of a day, which is then left out
    alarm.update(0.0, user="z", day="thu")
    alarm.update(0.0, user="u", day="fri")
    assert alarm.sum == 0


def test_a_rhythm_is_no_drift():
    """Days of 50 %, nights of 10 %: no alarm by the usual share of the hour, by whole days, or by neither.

    After eight days everything is half: the first two say so, and neither gives a doubt.
    """
    random = np.random.default_rng(8)
    rang = {"hour": 0, "day": 0, "neither": 0}
    late = dict.fromkeys(rang, 0)
    for _ in range(40):
        alarms = {name: DriftAlarm(normal=0.3) for name in rang}
        before, after = dict.fromkeys(rang, False), dict.fromkeys(rang, False)
        for page in range(1200):
            usual = 0.5 if page % 100 < 50 else 0.1
            click = float(random.random() < usual * (1.0 if page < 800 else 0.5))
            known = {"hour": {"normal": usual}, "day": {"day": page // 100}, "neither": {}}
            for name, alarm in alarms.items():
                rings = alarm.update(click, user=page, **known[name])
                (before if page < 800 else after)[name] |= rings is True
        for name in rang:
            rang[name] += before[name]
            late[name] += after[name]
        assert "update(normal=), or the day" in alarms["neither"].reason
    assert rang["hour"] <= 6  # 800 of 10,000 pages: 8 % at most, and three standard errors are 13 % more
    assert rang["day"] <= 6
    assert rang["neither"] == late["neither"] == 0
    assert late["hour"] >= 38
    assert late["day"] >= 38


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
