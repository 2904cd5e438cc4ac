"""Alarms and the gate of learning, where nothing changed and where something did."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from null_lab.cell import Cell, coverage, false_alarms, power, runs
from null_lab.people import Crowd, log_of, visits
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.online import DriftAlarm
from rankloop.propensity import Propensity
from rankloop.report.ctr_by_position import click_rates
from rankloop.serve.config import GateSettings, InfluenceSettings
from rankloop.serve.events.sums import DaySum
from rankloop.serve.learning.candidates import estimate_gains
from rankloop.serve.learning.gate import at_every_look, decide
from rankloop.serve.learning.remembering import gain_of_memory, voices_of
from rankloop.serve.learning.window import curves_of
from rankloop.serve.pages.drift import APART, changed_features, changed_shares

__all__ = ["cells"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Opens = Callable[[np.random.Generator, str, float], bool]
CROWDS = ("light", "heavy")
RATE = (0.7, 1.3)  # click rates of people: a beta distribution with mean 0.35
NORMAL = 0.35
PAGES = 2000  # of a run; the alarm is set to 20 times as many between false alarms
DAYS = 50  # of a dashboard; its alarms are 20 times as many apart
DAY = 500  # pages of the daily rhythm
LOOKS = (1000, 2000, 3000)  # pages of a window at each run of learning
GATES = 200  # experiments with the gate: each look fits a model of relevance


def cells(quick: bool) -> Iterator[Cell]:
    yield from _rewards(runs(quick))
    yield from _dashboard(runs(quick))
    if quick:
        return
    yield _features(runs(quick))
    yield from _rates(runs(quick))
    yield from _window(GATES)
    yield from _gate(GATES)
    yield from _memory(GATES)


def _rewards(experiments: int) -> Iterator[Cell]:
    """`DriftAlarm` on pages in the order of time."""
    known: dict[str, Any] = {"crowd": "light", "rhythm": True}
    kinds: dict[str, dict[str, Any]] = {
        "light people": {"crowd": "light"},
        "Zipf people": {"crowd": "zipf"},
        "heavy people": {"crowd": "heavy"},
        "heavy people, not told apart": {"crowd": "heavy", "told": False},
        "a bot on every tenth page": {"crowd": "light", "bot": True},
        "daily rhythm, the hour's share given": known,
        "daily rhythm, the day given": {**known, "time": "day"},
        "daily rhythm, not given": {**known, "time": ""},
        "active people click more, the mean over pages given": {"crowd": "light", "active": True},
    }
    for how, options in kinds.items():
        rng = np.random.default_rng(11)
        rung = sum(_rings(rng, **options) is True for _ in range(experiments))
        yield false_alarms("DriftAlarm", f"{how}, {PAGES:,} pages", rung, experiments)
    falls: dict[str, tuple[bool | None, dict[str, Any]]] = {
        "": (True, {"crowd": "light"}),
        ", daily rhythm, the hour's share given": (True, known),
        ", daily rhythm, the day given": (True, {**known, "time": "day"}),
        ", daily rhythm, not given: a doubt": (None, {**known, "time": ""}),
        ", heavy people, not told apart: a doubt": (None, {"crowd": "heavy", "told": False}),
        ", active people click more, the mean over pages given": (True, {"crowd": "light", "active": True}),
    }
    for how, (expected, options) in falls.items():
        rng = np.random.default_rng(12)
        found = sum(_rings(rng, **options, fall=0.5) is expected for _ in range(experiments))
        yield power(
            "DriftAlarm", f"half of the clicks gone{how}, {PAGES:,} pages", found, experiments, least=0.95
        )


def _rings(
    rng: np.random.Generator,
    crowd: str,
    *,
    told: bool = True,
    bot: bool = False,
    active: bool = False,
    rhythm: bool = False,
    time: str = "hour",
    fall: float = 1.0,
) -> bool | None:
    """What the alarm says of the pages of one run: True if it ever rings, None if it has but doubts."""
    pages = visits(rng, PAGES, crowd)
    person = rng.permutation(np.repeat(np.arange(len(pages)), pages))[:PAGES]
    habit = rng.beta(*RATE, len(pages))
    if active:
        habit = np.sort(habit)[np.argsort(np.argsort(pages))]
    rate = fall * habit[person]
    usual = np.full(PAGES, habit[person].mean() if active else NORMAL)
    if rhythm:
        wave = 1 + 0.4 * np.sin(2 * np.pi * np.arange(PAGES) / DAY)
        rate, usual = np.minimum(rate * wave, 1.0), _usual(wave)
    if bot:
        rate[::10], person[::10] = 0.0, -1
    clicks = (rng.random(PAGES) < rate).astype(float)
    alarm = DriftAlarm(normal=float(usual.mean()), apart=20.0 * PAGES)
    people = person.tolist() if told else [None] * PAGES
    hours = usual.tolist() if time == "hour" else [None] * PAGES
    days = (np.arange(PAGES) // DAY).tolist() if time == "day" else [None] * PAGES
    steps = zip(clicks.tolist(), people, hours, days, strict=True)
    said = {alarm.update(click, user=one, normal=mean, day=day) for click, one, mean, day in steps}
    return True if True in said else None if None in said else False


def _usual(wave: Floats) -> Floats:
    """The mean reward at each point of the rhythm, in which rates are cut at 1."""
    many = np.random.default_rng(0).beta(*RATE, 20_000)
    levels, place = np.unique(wave.round(3), return_inverse=True)
    return np.array([np.minimum(many * level, 1.0).mean() for level in levels])[place]


def _dashboard(experiments: int) -> Iterator[Cell]:
    """The alarm of the drift panel, looked at on each of fifty days."""
    kinds = [("light", False), ("heavy", False)] if experiments < 1000 else None
    for crowd, weekly in kinds or [("light", False), ("zipf", False), ("heavy", False), ("light", True)]:
        rng = np.random.default_rng(13)
        alarms = 0
        for _ in range(experiments):
            days = [_day(rng, number, crowd, weekly) for number in range(DAYS)]
            alarms += any(_panel_rings(days[:last], days[last]) for last in range(2, DAYS))
        how = f"{crowd} people" + (", weekly rhythm" if weekly else "")
        yield false_alarms("drift panel, shares", f"{how}, {DAYS} days", alarms, experiments)
    rng = np.random.default_rng(14)
    found = 0
    for _ in range(experiments):
        days = [_day(rng, number, "light", False) for number in range(21)]
        found += _panel_rings(days, _day(rng, 21, "light", False, fall=0.5))
    yield power(
        "drift panel, shares", "half of the clicks gone after 21 days", found, experiments, least=0.95
    )


def _panel_rings(old: list[DaySum], new: DaySum) -> bool:
    return any(one.p_value < 1 / (2 * APART) for one in changed_shares(old, new))


def _day(rng: np.random.Generator, number: int, crowd: str, weekly: bool, fall: float = 1.0) -> DaySum:
    pages = visits(rng, 300, crowd)
    rate = fall * rng.beta(*RATE, len(pages)) * (0.8 if weekly and number % 7 > 4 else 1.0)
    clicked, first = (int(rng.binomial(pages, share * rate).sum()) for share in (1.0, 0.5))
    empty, total = int(rng.binomial(pages.sum(), 0.02)), int(pages.sum())
    return DaySum(86_400.0 * number, "v1", total, clicked, clicked, first, 0.3, 0.01, total, empty)


def _features(experiments: int) -> Cell:
    """The Kolmogorov-Smirnov tests of the drift panel at 5 %: ten features that did not change."""
    rng = np.random.default_rng(15)
    names = [f"f{i}" for i in range(10)]
    alarms = 0
    for _ in range(experiments):
        before, lately = ([rng.normal(size=(3, 10)).astype(np.float32) for _ in range(60)] for _ in range(2))
        alarms += changed_features(names, before, lately)[0].p_value <= 0.05
    return false_alarms("drift panel, features", "10 features, a page of each person", alarms, experiments)


def _rates(experiments: int) -> Iterator[Cell]:
    """Click rates by rank as the reports draw them."""
    world = Crowd(design="shuffle", own=0.6)
    true = float(world.curve()[-1] / 3)  # the mean relevance of a document is a third
    for crowd in ("light", "heavy"):
        rng = np.random.default_rng(16)
        held = 0
        for _ in range(experiments):
            pages = visits(rng, 600, crowd)
            person = rng.permutation(np.repeat(np.arange(len(pages)), pages))
            large = Crowd(design="shuffle", own=0.6, queries=len(person))
            _, low, high = click_rates(log_of(large, person, rng)[0])
            held += low[-1] <= true <= high[-1]
        yield coverage("ctr_by_position", f"{crowd} people, each with a curve", held, experiments)


def _window(experiments: int) -> Iterator[Cell]:
    """The alarm of a learning run that the curve changed within its window."""
    for crowd in ("light", "heavy"):
        rng = np.random.default_rng(17)
        alarms = 0
        for _ in range(experiments):
            pages = visits(rng, 3000 if crowd == "light" else 700, crowd)
            person = rng.permutation(np.repeat(np.arange(len(pages)), pages))
            found, _ = curves_of(log_of(Crowd(design="adjacent", own=0.6), person, rng)[0])
            alarms += any("changed within" in one for one in found.alarms)
        yield false_alarms("curve changed in the window", f"{crowd} people, one look", alarms, experiments)


def _gate(experiments: int) -> Iterator[Cell]:
    """Two candidates as good as production, over several runs of learning on growing windows."""
    how = f"people, {len(LOOKS)} looks, 2 candidates"
    yield from _opened(_opens, experiments, 18, {crowd: f"{crowd} {how}" for crowd in CROWDS}, 0.5)
    yield _found(_opens, experiments, 19, "a candidate that is 8 % better", 0.1)


def _memory(experiments: int) -> Iterator[Cell]:
    """Clicks that are remembered on top of production: of the best order there is, and of one that is not."""
    hows = {crowd: f"remembered clicks, {crowd} people, {len(LOOKS)} looks, 3 candidates" for crowd in CROWDS}
    yield from _opened(_memory_opens, experiments, 20, hows, 0.0)
    yield _found(_memory_opens, experiments, 21, "remembered clicks, production can gain 8 %", 0.5)


def _opened(opens: Opens, experiments: int, seed: int, hows: dict[str, str], noise: float) -> Iterator[Cell]:
    """How often the gate opens for nothing, by the people who click."""
    for crowd, how in hows.items():
        rng = np.random.default_rng(seed)
        opened = sum(opens(rng, crowd, noise) for _ in range(experiments))
        yield false_alarms("gate of learning", how, opened, experiments)


def _found(opens: Opens, experiments: int, seed: int, how: str, noise: float) -> Cell:
    """How often it opens for something."""
    rng = np.random.default_rng(seed)
    found = sum(opens(rng, "light", noise) for _ in range(experiments))
    return power("gate of learning", how, found, experiments, least=0.8)


def _memory_opens(rng: np.random.Generator, crowd: str, noise: float) -> bool:
    """Whether the gate ever opens for production with memory."""
    log, data, curve, relevance = _pages_of(rng, crowd)
    production = (relevance + noise * rng.normal(size=relevance.shape)).ravel()
    for look, until in enumerate(LOOKS, 1):
        gate = at_every_look(GateSettings(pages=1), look, 3)
        some = log.select(np.arange(until))
        gain = gain_of_memory(
            some, data, curve, voices_of(some, {}, InfluenceSettings.voices), production, production,
            until=None, metric=gate.metric, confidence=gate.confidence,
        )  # fmt: skip
        if decide(gate, until, gain).opens:
            return True
    return False


def _opens(rng: np.random.Generator, crowd: str, noise: float) -> bool:
    """Whether the gate ever opens for one of two candidates."""
    log, data, curve, relevance = _pages_of(rng, crowd)
    production, *others = (
        (relevance + one * rng.normal(size=relevance.shape)).ravel() for one in (0.5, noise, 0.5)
    )
    for look, until in enumerate(LOOKS, 1):
        gate = at_every_look(GateSettings(pages=1), look, len(others))
        scores = {str(i): one for i, one in enumerate(others)}
        found = estimate_gains(
            log.select(np.arange(until)), data, curve, production, scores,
            metric=gate.metric, confidence=gate.confidence,
        )  # fmt: skip
        if any(decide(gate, until, found[name]).opens for name in scores):
            return True
    return False


def _pages_of(rng: np.random.Generator, crowd: str) -> tuple[ClickLog, RankingDataset, Propensity, Floats]:
    """A log, its documents with features of no use, the true curve and the relevance."""
    world = Crowd(queries=100, documents=6, shown=6, design="adjacent", own=0.6 if crowd == "heavy" else 0.0)
    pages = visits(rng, LOOKS[-1], crowd)
    person = rng.permutation(np.repeat(np.arange(len(pages)), pages))[: LOOKS[-1]]
    log, relevance = log_of(world, person, rng)
    data = RankingDataset.from_groups(
        rng.normal(size=(relevance.size, 2)), np.zeros(relevance.size), np.full(100, 6),
        qid=np.arange(100), docid=np.arange(relevance.size),
    )  # fmt: skip
    return log, data, Propensity.given(world.curve()), relevance
