"""Propensity curves: coverage under their own click model, under others, and with people who search a lot."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from null_lab.cell import Cell, confirmed, coverage, false_alarms, runs
from null_lab.people import Crowd, log_of, visits
from rankloop.clicks import ClickLog, simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.propensity import (
    Propensity,
    TrustWarning,
    contextual,
    drift,
    dual_learning,
    fair_pairs,
    harvest,
    pair_debias,
    pair_preferences,
    randomized,
    regression_em,
    swap_intervention,
)
from rankloop.serve.learning.curve import shrunk

__all__ = ["cells"]

Floats = NDArray[np.float64]
EXPERIMENTS: list[tuple[str, Callable[..., Propensity]]] = [
    ("shuffle", randomized),
    ("swap", swap_intervention),
    ("adjacent", swap_intervention),
    ("fairpairs", fair_pairs),
    ("draws", harvest),
]
PEOPLE = {"light": 600, "zipf": 400, "heavy": 600}
RESAMPLES = 300  # of a curve: a third of the default, for the same interval in less time
FEW = 100  # experiments of what is slow, or known to miss
OWN = 0.6  # spread of people's own exponents
TRUST = "clicks that trust brings are taken for examination; a TrustWarning says so in {said:.0%}"
FEW_MADE = "the curve says in {said:.0%} that few people made most of the clicks"
STOP = "people who stop reading have no curve by rank; the curve says so in {said:.0%}"


def cells(quick: bool) -> Iterator[Cell]:
    experiments = runs(quick)
    for design, estimator in EXPERIMENTS:
        name = f"{estimator.__name__} ({design})"
        documents = 6 if design == "draws" else 4
        crowds = [("light", 0.0), ("light", OWN), ("zipf", OWN), ("heavy", OWN)]
        for crowd, own in [("heavy", OWN)] if quick else crowds:
            how = f"{crowd} people" + (", each with a curve" if own else "")
            world = Crowd(design=design, own=own, documents=documents)
            cell = partial(_cell, name, f"position-based, {how}", world, crowd, estimator)
            yield from confirmed(lambda n, cell=cell: [cell(n)], experiments)
        if quick:
            continue
        for users, note in (("trust", TRUST), ("cascade", STOP)):
            world = Crowd(design=design, users=users, documents=documents)
            yield _cell(name, f"{users}, light people", world, "light", estimator, FEW, note)
    if not quick:
        yield from _joint(experiments)
        yield _contextual(experiments)
    yield from _shrunk(experiments)
    yield _preferences(experiments)
    yield from _drift(experiments)


def _cell(
    name: str,
    how: str,
    world: Crowd,
    crowd: str,
    estimator: Callable[..., Propensity],
    experiments: int,
    note: str = "",
) -> Cell:
    """How often the interval of the last rank holds the truth, in logs with a result.

    Without a `note` of its own a cell has one if most of the curves say that few people made them.
    """
    rng = np.random.default_rng(len(how))
    true = mean_examination(world)
    held = made = said = few = 0
    while made < experiments:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            curve = _estimated(log_of(world, people_of(rng, crowd), rng)[0], estimator)
        if curve is None:
            continue
        made += 1
        held += curve.low[-1] <= true[-1] <= curve.high[-1]
        if note == STOP:
            said += "people stop reading" in repr(curve)
        else:
            said += any(issubclass(one.category, TrustWarning) for one in caught)
        few += "made most of the clicks" in repr(curve)
    if not note and few > 0.5 * experiments:
        note, said = FEW_MADE, few
    share = said / experiments
    return coverage(name, how, held, experiments, note=note.format(said=share), said=share)


def people_of(rng: np.random.Generator, crowd: str) -> NDArray[np.int64]:
    """The person of each page, in the order of the pages."""
    pages = visits(rng, PEOPLE[crowd], crowd)
    return rng.permutation(np.repeat(np.arange(len(pages)), pages))


def mean_examination(world: Crowd) -> Floats:
    """How likely each rank is to be examined, relative to the first, over all pages."""
    if world.users != "cascade":
        return world.curve()
    rng = np.random.default_rng(1)
    gamma = rng.beta(1.0, 2.0, (400_000, world.shown))
    left = np.cumprod(1 - 0.9 * gamma, axis=1).mean(axis=0)
    return np.append(1.0, left[:-1])


def _estimated(log: ClickLog, estimator: Callable[..., Propensity], *more: Any) -> Propensity | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TrustWarning)  # counted where it is expected
        try:
            return estimator(log, *more, **({"resamples": RESAMPLES} if not more else {}))
        except ValueError:  # no click at a rank: there is no curve, and it says so
            return None


def _joint(experiments: int) -> Iterator[Cell]:
    """Curves and relevance together: the features explain all of relevance, the logger is random."""
    data = _explained()
    true = 1.0 / np.arange(1.0, 5)
    for estimator, most in ((regression_em, experiments), (dual_learning, FEW), (pair_debias, FEW)):
        tried, held = min(experiments, most), 0
        for i in range(tried):
            log = simulate(data, logging_policy=np.zeros(len(data.y)), sessions=4000, k=4, seed=i)
            curve = _estimated(log, estimator, data)
            held += curve is not None and bool(curve.low[-1] <= true[-1] <= curve.high[-1])
        yield coverage(estimator.__name__, "position-based, features explain relevance", held, tried)
    held = said = 0
    for i in range(FEW):
        log = simulate(data, logging_policy=data.y, sessions=4000, k=4, seed=i)
        curve = _estimated(log, regression_em, data.replace(X=data.X[:, :1], feature_names=None))
        held += curve is not None and bool(curve.low[-1] <= true[-1] <= curve.high[-1])
        said += curve is None or bool(curve.identifiability is not None and curve.identifiability.warnings)
    note = f"warned in {said / FEW:.0%}"
    yield coverage(
        "regression_em",
        "the logger knows more than the features",
        held,
        FEW,
        note=note if said > 0.9 * FEW else "",
        said=said / FEW,
    )


def _explained() -> RankingDataset:
    """Queries whose labels follow from the features."""
    made = synthetic(n_queries=400, docs_per_query=6, n_features=3, seed=0)
    grade = np.digitize(made.X[:, 0], np.quantile(made.X[:, 0], [0.5, 0.7, 0.85, 0.95]))
    return made.replace(
        y=grade.astype(np.float32), X=np.eye(5, dtype=np.float32)[grade][:, 1:], feature_names=None
    )


def _contextual(experiments: int) -> Cell:
    """Two kinds of pages with a curve each."""
    rng = np.random.default_rng(3)
    worlds = [Crowd(design="shuffle", eta=0.5), Crowd(design="shuffle", eta=1.5)]
    held = 0
    for _ in range(experiments):
        logs = [log_of(world, np.arange(1500), rng)[0] for world in worlds]
        found = contextual(_apart(logs), np.repeat([[0.0], [1.0]], 1500, axis=0)).curve([1.0])
        held += found.low[-1] <= 4.0**-1.5 <= found.high[-1]
    return coverage("contextual", "position-based, two contexts", held, experiments)


def _apart(logs: list[ClickLog]) -> ClickLog:
    """Several logs as one, without people; queries of the same number are the same."""
    columns: dict[str, Any] = {name: [] for name in ("session", "query", "document", "position", "click")}
    for number, log in enumerate(logs):
        columns["session"].append(log.session + number * log.n_pages)
        for name in ("query", "document", "position", "click"):
            columns[name].append(getattr(log, name))
    return ClickLog(**{name: np.concatenate(parts) for name, parts in columns.items()})


def _shrunk(experiments: int) -> Iterator[Cell]:
    """The curve of the service: swaps of neighbours, shrunk towards a power of the rank."""
    rng = np.random.default_rng(4)
    for eta in (0.5, 1.0):
        world, held, said = Crowd(design="adjacent", eta=eta), 0, 0
        for _ in range(experiments):
            curve = _estimated(log_of(world, people_of(rng, "light"), rng)[0], swap_intervention)
            found = None if curve is None else shrunk(curve)
            held += found is not None and bool(found.low[-1] <= world.curve()[-1] <= found.high[-1])
            said += found is not None and "the interval is wide" in found.method
        note = f"the curve says in {said / experiments:.0%} that its interval is wide for a power of the rank"
        how = f"position-based, exponent {eta:g}"
        yield coverage("curve of the service", how, held, experiments, note=note, said=said / experiments)


def _preferences(experiments: int) -> Cell:
    """Pairs of equally relevant neighbours: p-values below 5 %."""
    rng = np.random.default_rng(5)
    alarms = pairs = 0
    while pairs < experiments:
        pages = 400
        flipped, low = rng.random(pages) < 0.5, rng.random(pages) < 0.15
        document = np.where(flipped[:, None], [1, 0], [0, 1])
        log = ClickLog(
            np.repeat(np.arange(pages), 2),
            np.zeros(2 * pages, np.int64),
            document.ravel(),
            np.tile([1, 2], pages),
            np.column_stack([rng.random(pages) < 0.3, low]).ravel().astype(np.int8),
            intervention=np.full(2 * pages, "fairpairs odd"),
            original_position=(document + 1).ravel(),
        )
        alarms += int(pair_preferences(log).p_value[0] <= 0.05)
        pairs += 1
    return false_alarms("pair_preferences", "two documents alike, 400 pages", alarms, experiments)


def _drift(experiments: int) -> Iterator[Cell]:
    """The same curve in two logs: alarms at 95 %."""
    for crowd, own in (("light", 0.0), ("zipf", OWN), ("heavy", OWN)):
        rng = np.random.default_rng(6)
        world, alarms, made = Crowd(design="swap", own=own), 0, 0
        while made < experiments:
            curves = [
                _estimated(log_of(world, people_of(rng, crowd), rng)[0], swap_intervention) for _ in "ab"
            ]
            if None in curves:
                continue
            made += 1
            alarms += not drift(*curves, confidence=0.95).holds
        how = f"{crowd} people" + (", each with a curve" if own else "")
        yield false_alarms("propensity.drift", f"{how}, 95 %", alarms, experiments)
