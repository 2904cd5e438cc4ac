"""Do propensity estimators find the curve, do their intervals cover it, and do joint fits say when they fail?

python benchmarks/propensity.py [recovery] [coverage] [joint]
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import ClickLog, simulate
from rankloop.clicks import user as user_named
from rankloop.data import RankingDataset, synthetic
from rankloop.data.synthetic import synthetic_utility
from rankloop.propensity import (
    Propensity,
    dual_learning,
    fair_pairs,
    harvest,
    identifiability,
    pair_debias,
    randomized,
    regression_em,
    swap_intervention,
)
from results import benchmark, record

QUERIES, DOCUMENTS, FEATURES, RANKS = 2000, 20, 20, 10
SESSIONS = 1_000_000
ETAS = (0.5, 1.0, 2.0)
RUNS, RUN_SESSIONS = 200, 30_000
STRENGTHS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
JOINT_SESSIONS = 300_000

Estimator = Callable[..., Propensity]
# name, how pages vary, the estimator and its options
EXPERIMENTS: list[tuple[str, dict[str, Any], Estimator, dict[str, Any]]] = [
    ("randomized", {"randomize": "shuffle"}, randomized, {}),
    ("swap, pivot", {"randomize": "swap"}, swap_intervention, {"scheme": "pivot"}),
    ("swap, adjacent chain", {"randomize": "adjacent"}, swap_intervention, {"scheme": "chain"}),
    ("harvest of adjacent swaps", {"randomize": "adjacent"}, harvest, {}),
    ("fair_pairs", {"randomize": "fairpairs"}, fair_pairs, {}),
    ("harvest, allpairs", {"temperature": 2.0}, harvest, {}),
    ("harvest, allpairs, equal", {"temperature": 2.0}, harvest, {"weights": "equal"}),
    ("harvest, pivot", {"temperature": 2.0}, harvest, {"scheme": "pivot"}),
    ("harvest, chain", {"temperature": 2.0}, harvest, {"scheme": "chain"}),
]


def main() -> None:
    data = synthetic(QUERIES, DOCUMENTS, FEATURES, seed=0)
    tables = {"recovery": recovery, "coverage": coverage, "joint": joint}
    for part in sys.argv[1:] or list(tables):
        for line in tables[part](data):
            print(line, flush=True)


def weak_logger(data: RankingDataset) -> NDArray[np.float64]:
    return data.y + 2 * np.random.default_rng(0).normal(size=len(data.y))


def truth_of(eta: float) -> NDArray[np.float64]:
    return np.asarray((1.0 / np.arange(1, RANKS + 1)) ** eta)


def recovery(data: RankingDataset) -> Iterator[str]:
    yield f"\nrecovery: {SESSIONS:,} sessions, {QUERIES:,} queries, PBM (1/k)^eta, relative error"
    yield f"{'estimator':<27}{'eta':>4}{'worst error':>13}{'at rank 10':>12}{'its s.e.':>10}{'seconds':>9}"
    for name, pages, estimator, options in EXPERIMENTS:
        for eta in ETAS:
            log = _log(data, SESSIONS, eta, pages, seed=1)
            start = time.perf_counter()
            curve = estimator(log, **options)
            took = time.perf_counter() - start
            error = curve.values / truth_of(eta) - 1
            spread = 0.0 if curve.resamples is None else float(np.log(curve.resamples[:, -1]).std())
            worst = float(np.abs(error).max())
            record(
                "recovery",
                estimator=name,
                eta=eta,
                worst=worst,
                rank_10=error[-1],
                error=spread,
                seconds=took,
            )
            yield f"{name:<27}{eta:>4}{worst:>13.1%}{error[-1]:>+12.1%}{spread:>10.1%}{took:>9.1f}"


def coverage(data: RankingDataset) -> Iterator[str]:
    yield f"\ncoverage of 95 % intervals: {RUNS} runs of {RUN_SESSIONS:,} sessions, ranks 2 to {RANKS}, eta 1"
    yield f"{'estimator':<27}{'all ranks':>10}{'least':>8}{'most':>8}{'rank 10':>9}"
    truth = truth_of(1.0)
    for name, pages, estimator, options in EXPERIMENTS:
        inside = np.zeros((RUNS, RANKS), bool)
        for seed in range(RUNS):
            curve = estimator(_log(data, RUN_SESSIONS, 1.0, pages, seed=seed), resamples=400, **options)
            inside[seed] = (curve.low <= truth) & (truth <= curve.high)
        share = inside[:, 1:].mean(axis=0)
        record(
            "coverage",
            estimator=name,
            all=share.mean(),
            least=share.min(),
            most=share.max(),
            rank_10=share[-1],
        )
        yield f"{name:<27}{share.mean():>10.1%}{share.min():>8.1%}{share.max():>8.1%}{share[-1]:>9.1%}"


def joint(data: RankingDataset) -> Iterator[str]:
    yield f"\njoint fits of {JOINT_SESSIONS:,} sessions, one ranking per query"
    yield "the logger ranks by strength x hidden utility + (1 - strength) x noise; features are noisy"
    heads = ("worst error", "at rank 10", "trusted", "overlap", "predicted", "seconds")
    yield f"{'estimator':<15}{'strength':>9}{heads[0]:>13}{heads[1]:>12}" + "".join(
        f"{h:>9}" for h in heads[2:]
    )
    utility = synthetic_utility(QUERIES, DOCUMENTS, FEATURES, seed=0)
    utility = (utility - utility.mean()) / utility.std()
    noise = np.random.default_rng(1).normal(size=len(utility))
    warnings.simplefilter("ignore")
    for strength in STRENGTHS:
        shown = strength * utility + (1 - strength) * noise
        log = simulate(data, logging_policy=shown, sessions=JOINT_SESSIONS, k=RANKS, seed=1)
        report = identifiability(log, data)
        overlap = min(report.overlap or (0.0,))
        predicted = 1 - float(np.exp(-max(report.bias or (0.0,))))
        for estimator in (regression_em, dual_learning, pair_debias):
            start = time.perf_counter()
            curve = estimator(log, data)
            took = time.perf_counter() - start
            error = curve.values / truth_of(1.0) - 1
            record(
                "joint",
                estimator=estimator.__name__,
                strength=strength,
                worst=np.abs(error).max(),
                rank_10=error[-1],
                trusted=bool(report.trusted),
                overlap=overlap,
                predicted=predicted,
                seconds=took,
            )
            yield (
                f"{estimator.__name__:<15}{strength:>9}{np.abs(error).max():>13.1%}{error[-1]:>+12.1%}"
                f"{'yes' if report.trusted else 'no':>9}{overlap:>9.0%}{predicted:>9.0%}{took:>9.1f}"
            )


def _log(data: RankingDataset, sessions: int, eta: float, pages: dict[str, Any], *, seed: int) -> ClickLog:
    user = user_named("pbm", eta=eta)
    return simulate(
        data, logging_policy=weak_logger(data), user=user, sessions=sessions, k=RANKS, seed=seed, **pages
    )


if __name__ == "__main__":
    benchmark(main)
