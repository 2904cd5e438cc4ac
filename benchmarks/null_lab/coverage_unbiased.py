"""The value of a ranking from clicks on another one: coverage of corrections, slates and replays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from null_lab.cell import Cell, coverage, false_alarms, power, runs
from null_lab.people import Crowd, log_of, visits
from rankloop.clicks import ClickLog, TrustPBM
from rankloop.data import RankingDataset
from rankloop.interleaving.replay import Replay
from rankloop.propensity import harvest
from rankloop.unbiased import slate
from rankloop.unbiased.counterfactual_estimate import Evaluator

__all__ = ["cells"]

Floats = NDArray[np.float64]
METHODS = ("ips", "clipped", "snips", "policy_aware", "affine", "intervention_aware", "doubly_robust")
DOCUMENTS, SHOWN, QUERIES, PAGES = 6, 4, 60, 2000
FEW = 100  # experiments of what is known to miss
DOUBTED = ("trust, a plain curve", "a model that is wrong")  # the clicks speak against what is given
RANKS = np.arange(1.0, SHOWN + 1)
DISCOUNT = np.zeros(DOCUMENTS)
DISCOUNT[:3] = 1 / np.log2(np.arange(2.0, 5))
SAYS = {  # a part of a warning, and what it means
    "few people made": "a warning says in {:.0%} that few people made most of the pages",
    "covers more than 95 %": "a warning says in {:.0%} that it is too wide: curve and value share clicks",
    "than the curve says": "a warning says in {:.0%} that the curve is not that of these people",
    "as wrong as its model": "a warning says in {:.0%} that the model of relevance is wrong",
}


def cells(quick: bool) -> Iterator[Cell]:
    experiments = runs(quick)
    world = Crowd(queries=QUERIES, documents=DOCUMENTS, shown=SHOWN, design="draws")
    trust = Crowd(queries=QUERIES, documents=DOCUMENTS, shown=SHOWN, design="draws", users="trust")
    for method in METHODS:
        yield from _cells(method, "4 of 6 shown, position-based", world, experiments)
    for method in ("affine", "intervention_aware", "doubly_robust"):
        yield from _cells(method, "4 of 6 shown, trust, its curve known", trust, experiments, user=True)
    if not quick:
        yield from _conditions(world, trust, experiments)
    yield from _slates(experiments)
    yield from _replays(experiments)


def _conditions(world: Crowd, trust: Crowd, experiments: int) -> Iterator[Cell]:
    for method in ("ips", "policy_aware", "doubly_robust"):
        yield from _cells(method, "the curve estimated too", world, experiments, estimated=True)
        few = Crowd(queries=22, documents=DOCUMENTS, shown=SHOWN, design="draws")
        yield from _cells(method, "22 queries", few, experiments)
        yield from _cells(method, "light people, each with a curve", _own(world), experiments, crowd="light")
        yield from _cells(method, "heavy people, each with a curve", _own(world), FEW, crowd="heavy")
        yield from _cells(method, "trust, a plain curve", trust, FEW)
    yield from _cells("direct_method", "a model that is right", world, experiments, right=True)
    yield from _cells("direct_method", "a model that is wrong", world, FEW)


def _own(world: Crowd) -> Crowd:
    return Crowd(
        queries=world.queries, documents=world.documents, shown=world.shown, design=world.design, own=0.6
    )


def _cells(
    method: str,
    how: str,
    world: Crowd,
    experiments: int,
    *,
    user: bool = False,
    estimated: bool = False,
    right: bool = False,
    crowd: str = "",
) -> Iterator[Cell]:
    """The dcg@3 of a ranking and its gain over another, in worlds of newly drawn queries."""
    rng = np.random.default_rng(len(method + how))
    (value, gain), bias = _truth(), _bias(world, user)
    held = better = doubts = 0
    said = dict.fromkeys(SAYS, 0)
    for _ in range(experiments):
        person = np.arange(PAGES)
        if crowd:
            pages = visits(rng, 1000 if crowd == "light" else 400, crowd)
            person = rng.permutation(np.repeat(np.arange(len(pages)), pages))
        log, relevance = log_of(world, person, rng)
        data = RankingDataset.from_groups(
            np.zeros((relevance.size, 1)), np.zeros(relevance.size), np.full(world.queries, DOCUMENTS),
            qid=np.arange(world.queries), docid=np.arange(relevance.size),
        )  # fmt: skip
        options: dict[str, Any] = {}
        if method in ("doubly_robust", "direct_method"):
            guess = relevance if right else 0.7 * relevance + 0.3 * rng.random(relevance.shape)
            options["relevance"] = guess.ravel()
        curve = harvest(log) if estimated else bias
        evaluator = Evaluator(log, data, "dcg@3", propensity=curve, method=method, **options)
        one, other = (_scores(relevance, noise, rng) for noise in (0.2, 0.5))
        found = evaluator.estimate(one)
        held += found.low <= value <= found.high
        for part in SAYS:
            said[part] += any(part in one for one in found.warnings)
        doubts += bool(evaluator.disagreements)
        _, low, high = evaluator.difference(one, other)
        better += low <= gain <= high
    most = max(said, key=lambda part: said[part])
    share = said[most] / experiments
    note = SAYS[most].format(share) if share > 0.9 else ""
    yield coverage(f"estimate, {method}", how, held, experiments, note=note, said=share)
    yield coverage(f"difference, {method}", how, better, experiments, note=note, said=share)
    if how in DOUBTED:
        yield power(f"disagreement, {method}", how, doubts, experiments, 0.95)
    else:
        yield false_alarms(f"disagreement, {method}", how, doubts, experiments)


def _bias(world: Crowd, user: bool) -> Any:
    if not user:
        return world.curve()
    other = 0.5 / RANKS**2
    return TrustPBM(relevant=1 / RANKS, other=other, attraction=0.5)


def _scores(relevance: Floats, noise: float, rng: np.random.Generator) -> Floats:
    return (relevance + noise * rng.normal(size=relevance.shape)).ravel()


def _truth() -> tuple[float, float]:
    """The mean dcg@3 over all queries of the better ranking, and its gain over the other."""
    rng = np.random.default_rng(77)
    gamma = rng.beta(1.0, 2.0, (400_000, DOCUMENTS))
    values = []
    for noise in (0.2, 0.5):
        order = np.argsort(-_scores(gamma, noise, rng).reshape(gamma.shape), axis=1)
        values.append(float((np.take_along_axis(gamma, order, axis=1) @ DISCOUNT).mean()))
    return values[0], values[0] - values[1]


def _slates(experiments: int) -> Iterator[Cell]:
    """Two of three documents, drawn by one policy and valued for another."""
    methods = ("standard", "reward_interaction", "independent", "cascade_dr")
    rng = np.random.default_rng(9)
    true = np.mean([_slate_value(rng.beta(1.0, 2.0, 3)) for _ in range(40_000)])
    held = dict.fromkeys(methods, 0)
    for _ in range(experiments):
        gamma = rng.beta(1.0, 2.0, (QUERIES, 3))
        query = rng.integers(0, QUERIES, PAGES)
        first = rng.choice(3, PAGES, p=OLD)
        left = OLD / (1 - OLD[first, None])
        left[np.arange(PAGES), first] = 0.0
        second = (rng.random(PAGES)[:, None] > np.cumsum(left, axis=1)).sum(axis=1).clip(0, 2)
        document = np.column_stack([first, second])
        seen = gamma[query[:, None], document] * [1.0, 0.5]
        click = (rng.random((PAGES, 2)) < seen).astype(np.int8)
        log = ClickLog(
            np.repeat(np.arange(PAGES), 2), np.repeat(query, 2), document.ravel(), np.tile([1, 2], PAGES),
            click.ravel(),
        )  # fmt: skip
        for method in methods:
            marginal = method == "independent"
            new, old = (_chances(document, one, marginal) for one in (NEW, OLD))
            guess = np.full(2 * PAGES, 0.25)
            more: dict[str, Any] = {"baseline": (guess, guess)} if method == "cascade_dr" else {}
            found = slate(log, new, logged=old, method=method, **more)
            held[method] += found.low <= true <= found.high
    for method in methods:
        yield coverage(f"slate, {method}", "2 of 3 documents, position-based", held[method], experiments)


OLD, NEW = np.array([0.4, 0.35, 0.25]), np.array([0.2, 0.3, 0.5])


def _chances(document: NDArray[np.int64], policy: Floats, marginal: bool) -> Floats:
    """The probability of each impression given the one above it, or of the impression alone."""
    first, second = document.T
    if not marginal:
        return np.column_stack([policy[first], policy[second] / (1 - policy[first])]).ravel()
    below = np.array(
        [sum(policy[a] * policy[d] / (1 - policy[a]) for a in range(3) if a != d) for d in range(3)]
    )
    return np.column_stack([policy[first], below[second]]).ravel()


def _slate_value(gamma: Floats) -> float:
    return float(
        sum(
            NEW[a] * NEW[b] / (1 - NEW[a]) * (gamma[a] + 0.5 * gamma[b])
            for a in range(3)
            for b in range(3)
            if a != b
        )
    )


def _replays(experiments: int) -> Iterator[Cell]:
    """Pages with unequal weights, whose difference of credit depends on the weight and on the person."""
    for crowd, people in (("light", 40), ("light", 300), ("heavy", 300)):
        rng = np.random.default_rng(people)
        held = 0
        for _ in range(experiments):
            pages = visits(rng, people, crowd)
            person = np.repeat(np.arange(people), pages)
            taste = rng.normal(0.0, 0.3, people)[person]
            weight = rng.lognormal(0.0, 0.7, len(person))
            gap = np.clip(np.round(rng.normal(0.1, 0.6, len(person)) + taste + 0.1 * np.log(weight)), -2, 2)
            credits = np.column_stack([gap, np.zeros(len(gap))])
            _, low, high = Replay(credits, weight).difference(users=person)
            held += low <= _REPLAYED <= high
        yield coverage("Replay.difference", f"{people} {crowd} people", held, experiments)


def _replayed() -> float:
    rng = np.random.default_rng(1)
    weight = rng.lognormal(0.0, 0.7, 4_000_000)
    noise = rng.normal(0.1, 0.6, len(weight)) + rng.normal(0.0, 0.3, len(weight))
    gap = np.clip(np.round(noise + 0.1 * np.log(weight)), -2, 2)
    return float(weight @ gap / weight.sum())


_REPLAYED = _replayed()
