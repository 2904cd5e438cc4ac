"""Means over queries and differences between systems: coverage, and false alarms where nothing differs."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from null_lab.cell import Cell, coverage, false_alarms, runs
from rankloop.metrics import evaluate
from rankloop.metrics.results.comparison import Comparison
from rankloop.metrics.results.evaluation import Evaluation

__all__ = ["cells"]

Floats = NDArray[np.float64]
Values = Callable[[np.random.Generator, int], Floats]
MANY = 500_000  # queries behind a true mean
TESTS = ("randomization", "t", "bootstrap")
RIVALS = 4  # systems of the family that Holm's correction is for
DOCUMENTS = 10


def cells(quick: bool) -> Iterator[Cell]:
    yield from _means(runs(quick) * (1 if quick else 10))  # these are quick
    if quick:
        return
    yield from _served(runs(quick))
    yield from _nulls(runs(quick))
    yield from _differences(runs(quick))


def ndcg(rng: np.random.Generator, n: int) -> Floats:
    """Most lists are ordered half right."""
    return rng.beta(2, 2, n)


def mrr(rng: np.random.Generator, n: int) -> Floats:
    """Seven queries of ten find nothing; the others at a geometric rank."""
    return np.where(rng.random(n) < 0.3, 1.0 / rng.geometric(0.3, n), 0.0)


def err(rng: np.random.Generator, n: int) -> Floats:
    """Near 0 with a long tail."""
    return rng.beta(0.3, 1.5, n)


def rare(rng: np.random.Generator, n: int) -> Floats:
    """A hit on one query of twenty."""
    return (rng.random(n) < 0.05).astype(np.float64)


def dcg(rng: np.random.Generator, n: int) -> Floats:
    """Without a bound: exponential."""
    return rng.exponential(3.0, n)


def _means(experiments: int) -> Iterator[Cell]:
    few, some, many = 20, 100, 1000
    cases: list[tuple[Values, int, bool]] = [
        *((one, n, False) for one in (ndcg, mrr, err, dcg) for n in (few, some, many)),
        *((rare, n, False) for n in (some, many)),
        *((one, n, True) for one in (ndcg, mrr, err) for n in (some, many)),
    ]
    for values, n, weighted in cases:
        rng = np.random.default_rng([n, weighted])
        true = float(values(np.random.default_rng(99), MANY).mean())
        held = 0
        for _ in range(experiments):
            weight = rng.lognormal(size=n).astype(np.float32) if weighted else None
            low, high = _evaluation(values(rng, n), weight, values is not dcg).interval["x"]
            held += low <= true <= high
        how = f"{n:,} queries" + (", log-normal weights" if weighted else "")
        yield coverage("evaluate", f"values like {values.__name__}, {how}", held, experiments)


def _evaluation(
    values: Floats, weight: NDArray[np.float32] | None = None, bounded: bool = True
) -> Evaluation:
    return Evaluation(
        {"x": values}, np.arange(len(values)), weight, bounded=frozenset({"x"} if bounded else ())
    )


def _served(experiments: int) -> Iterator[Cell]:
    """`evaluate` from scores and labels, on queries drawn from a large pool."""
    rng = np.random.default_rng(5)
    queries = 20_000
    names = ("ndcg@5", "mrr", "err@5", "map", "dcg@5")
    labels = rng.choice(5, size=queries * DOCUMENTS, p=[0.6, 0.2, 0.1, 0.06, 0.04]).astype(np.float32)
    scores = labels + 2 * rng.normal(size=len(labels))
    from rankloop.data import RankingDataset

    pool = RankingDataset.from_groups(np.zeros((len(labels), 1)), labels, np.full(queries, DOCUMENTS))
    whole = evaluate(scores, pool, names)
    by_query = scores.reshape(queries, DOCUMENTS)
    for n in (20, 200):
        held, said = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for _ in range(experiments):
            chosen = np.sort(rng.choice(queries, n, replace=False))
            found = evaluate(by_query[chosen].ravel(), pool.select(chosen), names)
            for name in names:
                low, high = found.interval[name]
                held[name] += low <= whole.mean[name] <= high
                said[name] += any(name in one and "a rough interval" in one for one in found.table().notes)
        for name in names:
            share = said[name] / experiments
            note = f"a note says in {share:.0%} that few queries differ" if share > 0.5 else ""
            yield coverage(
                "evaluate", f"{name} of scores, {n} queries", held[name], experiments, note=note, said=share
            )


def _nulls(experiments: int) -> Iterator[Cell]:
    """Two systems, or five, whose queries fall like each other's: p-values below 5 %."""
    for test in TESTS:
        for n, values in ((20, ndcg), (200, mrr)):
            rng = np.random.default_rng([n, 7])
            alone = family = 0
            for i in range(experiments):
                level = values(rng, n)
                base, *others = (_evaluation(_noisy(rng, level, values)) for _ in range(1 + RIVALS))
                found = Comparison({"old": base, **dict(zip("abcd", others, strict=True))}, "old", test, i)
                verdicts = found.verdicts["x"]
                alone += verdicts["a"].p_value <= 0.05
                family += min(one.p_holm for one in verdicts.values()) <= 0.05
            how = f"{test}, values like {values.__name__}, {n} queries"
            yield false_alarms("compare", how, alone, experiments)
            yield false_alarms("compare, any of 4 (Holm)", how, family, experiments)


def _noisy(rng: np.random.Generator, level: Floats, values: Values) -> Floats:
    """Another system on the same queries: four lists of ten are ordered anew."""
    return np.where(rng.random(len(level)) < 0.4, values(rng, len(level)), level)


def _differences(experiments: int) -> Iterator[Cell]:
    """A system that wins: a little everywhere, or much on few queries."""
    for kind in ("even", "few queries"):
        for n in (20, 50, 200):
            yield from _differences_of(kind, n, experiments)


def _differences_of(kind: str, n: int, experiments: int) -> Iterator[Cell]:
    true = float(np.mean(_gain(np.random.default_rng(98), MANY, kind)))
    rng = np.random.default_rng([n, 8])
    held, said = dict.fromkeys(TESTS, 0), dict.fromkeys(TESTS, 0)
    for i in range(experiments):
        old = np.full(n, 0.5)
        new = old + _gain(rng, n, kind)
        for test in TESTS:
            both = {"old": _evaluation(old), "new": _evaluation(new)}
            compared = Comparison(both, "old", test, i)
            found = compared.verdicts["x"]["new"]
            inside = found.low <= true <= found.high
            held[test] += inside
            said[test] += not inside and any("a few queries" in one for one in compared.table().notes)
    for test in TESTS:
        share = said[test] / max(experiments - held[test], 1)
        warned = f"{share:.0%} of the misses are said" if share > 0.5 else ""
        how = f"{test}, {kind}, {n} queries"
        yield coverage("compare, difference", how, held[test], experiments, note=warned, said=share)


def _gain(rng: np.random.Generator, n: int, kind: str) -> Floats:
    if kind == "even":
        return rng.normal(0.03, 0.1, n).clip(-0.5, 0.5)
    part = rng.random(n)
    return np.where(part < 0.6, 0.0, np.where(part < 0.9, 0.5 * rng.beta(1, 3, n), -0.5 * rng.beta(1, 6, n)))
