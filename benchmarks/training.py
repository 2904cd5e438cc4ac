"""LambdaMART against LightGBM's own lambdarank: gradients, rounds and NDCG@10, in one run and as ratios.

    python benchmarks/training.py [--quick] [--queries N] [--trees N] [--draws N] [--divisions N]
        [--only gradient | speed | quality | drawn | coarse]

Everything runs in one thread, repeats are interleaved and medians are shown. LightGBM's gradient is a round
with two leaves on one feature, less the same round with precomputed gradients. A round is timed from
the end of the first round to the end of the last, so that loading and binning do not count;
"whole" counts them for both. Other lambdas grow trees of other shapes, which cost more or less; the last
line is the ratio from the gradient alone. The forests have the parameters of LightGBM's published
experiments: 255 leaves, learning rate 0.1, min_sum_hessian 100 for 10,000 queries. The small real sets get
31 leaves and min_sum_hessian 5, as LightGBM's own example has them. Each of their queries is tested by
forests that were trained on the other folds, once for every random division into five; its difference is the
mean over divisions, and the 95 % t-interval is over queries. That of the synthetic sets is over draws.
"""

import argparse
import os

os.environ.update({"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from scipy import stats

from rankloop.data import RankingDataset, concat, read_svmlight, synthetic
from rankloop.losses import LambdaRank
from rankloop.metrics import metric
from rankloop.rankers import LambdaMART
from results import benchmark, record

QUERIES, DOCUMENTS, FEATURES, TEST_QUERIES = 10_000, 120, 136, 2_000
TREES, TIMED_TREES, DRAWS, DIVISIONS, FOLDS, REPEATS, FITS, TRUNCATION = 100, 15, 5, 10, 5, 9, 3, 30
LARGE = {"leaves": 255, "learning_rate": 0.1, "min_sum_hessian": 100.0}
SMALL = {"leaves": 31, "learning_rate": 0.1, "min_sum_hessian": 5.0}
COARSE_TREES = 40
GOALS = {"a round, CPU": 1.5, "a round, wall": 1.5, "whole, CPU": 1.3}
NDCG = metric("ndcg@10")


def own_settings(leaves: int, learning_rate: float, min_sum_hessian: float) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "num_leaves": leaves,
        "learning_rate": learning_rate,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": min_sum_hessian,
        "lambdarank_truncation_level": TRUNCATION,
        "metric": "none",
        "num_threads": 1,
        "verbosity": -1,
    }


def large(queries: int) -> dict[str, float]:
    """The published parameters; with fewer queries, min_sum_hessian shrinks with the sums it bounds."""
    return {**LARGE, "min_sum_hessian": LARGE["min_sum_hessian"] * min(queries / QUERIES, 1.0)}


class Fitted(NamedTuple):
    scores: Callable[[RankingDataset], Any]
    leaves: float  # of a tree, on average


def fit_theirs(
    train: RankingDataset, trees: int, settings: dict[str, float], after: Callable[[Any], Any]
) -> Fitted:
    data = lightgbm.Dataset(train.X, train.y, group=train.lengths)
    booster = lightgbm.train(own_settings(**settings), data, trees, callbacks=[after])
    return Fitted(lambda test: booster.predict(test.X), mean_leaves(booster.model_to_string()))


def fit_ours(
    train: RankingDataset, trees: int, settings: dict[str, float], after: Callable[[Any], Any]
) -> Fitted:
    ranker = LambdaMART(trees=trees, threads=1, callbacks=[after], **settings).fit(train)
    return Fitted(ranker.predict, mean_leaves(ranker.forest_.text))


def mean_leaves(model: str) -> float:
    return statistics.mean(int(count) for count in re.findall(r"^num_leaves=(\d+)$", model, re.MULTILINE))


def gradients(queries: int) -> tuple[float, float]:
    """Seconds of LightGBM's gradient and of ours."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(DOCUMENTS // 2, DOCUMENTS * 3 // 2 + 1, queries)
    labels = rng.choice(5, lengths.sum(), p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = 0.3 * labels + rng.normal(size=len(labels))
    data = RankingDataset.from_groups(rng.normal(size=(len(labels), 1)), labels, lengths)
    ready = rng.normal(size=len(labels)).astype(np.float32), np.ones(len(labels), np.float32)

    def booster(objective: str) -> Any:
        rows = lightgbm.Dataset(data.X, data.y, group=lengths, init_score=scores)
        two_leaves = {**own_settings(2, 0.1, 0.0), "objective": objective}
        return lightgbm.Booster(two_leaves, rows)

    own, blank = booster("lambdarank"), booster("none")
    near = LambdaRank(truncation=TRUNCATION, norm_gap=True)
    plain, lambdas = LambdaRank(truncation=TRUNCATION), near.prepare(data.y, data.offsets)
    work: dict[str, Callable[[], Any]] = {
        "own": own.update,
        "blank": lambda: blank.update(fobj=lambda *_: ready),
        "LambdaMART's default": lambda: lambdas(scores),
        "LambdaRank, plain": lambda: plain.derivatives(scores, data.y, data.offsets),
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(REPEATS + 1):
        for name, one in work.items():
            start = time.process_time()
            one()
            if turn:  # the first turn compiles and warms up
                took[name].append(time.process_time() - start)
    median = {name: statistics.median(times) for name, times in took.items()}
    theirs = median["own"] - median["blank"]
    print(f"gradient of {len(labels):,} documents, truncation {TRUNCATION}, CPU time of one thread")
    record("gradient", who="LightGBM, lambdarank", ms=theirs * 1e3)
    print(f"  {'LightGBM, lambdarank':24} {theirs * 1e3:8.1f} ms")
    for name in list(work)[2:]:
        record("gradient", who=name, ms=median[name] * 1e3, part=theirs / median[name])
        print(f"  {name:24} {median[name] * 1e3:8.1f} ms   1/{theirs / median[name]:.1f} of it, wanted 1/8")
    return theirs, median["LambdaMART's default"]


def speed(queries: int, trees: int, gradient: tuple[float, float]) -> None:
    train = synthetic(n_queries=queries, docs_per_query=DOCUMENTS, n_features=FEATURES, seed=0)
    took: dict[str, list[tuple[float, ...]]] = {"LightGBM": [], "rankloop": []}
    leaves = {}
    for _ in range(FITS):
        for name, fit in (("LightGBM", fit_theirs), ("rankloop", fit_ours)):
            ends: list[tuple[float, float]] = []

            def after(_: Any, ends: list[tuple[float, float]] = ends) -> None:
                ends.append((time.process_time(), time.perf_counter()))

            start = time.process_time()
            leaves[name] = fit(train, trees, large(queries), after).leaves
            rounds = trees - 1
            took[name].append(
                (
                    (ends[-1][0] - ends[0][0]) / rounds,
                    (ends[-1][1] - ends[0][1]) / rounds,
                    time.process_time() - start,
                )
            )
    print(f"\n{queries:,} queries, {train.n_documents:,} documents, {FEATURES} features, {trees} trees")
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in took.items()
    }
    for i, (column, goal) in enumerate(GOALS.items()):
        theirs, ours = medians["LightGBM"][i], medians["rankloop"][i]
        faster = f"{theirs / ours:.2f} × as fast, goal {goal}"
        record(
            "speed",
            what=column,
            documents=train.n_documents,
            lightgbm=theirs,
            rankloop=ours,
            times=theirs / ours,
        )
        print(f"  {column:14} LightGBM {theirs:8.3f} s  rankloop {ours:8.3f} s  {faster}")
    print(f"  leaves a tree  LightGBM {leaves['LightGBM']:8.1f}    rankloop {leaves['rankloop']:8.1f}")
    same_trees = medians["LightGBM"][0] / (medians["LightGBM"][0] - gradient[0] + gradient[1])
    print(f"  by the gradient alone, had the trees been LightGBM's: {same_trees:.2f} ×", flush=True)


def both(train: RankingDataset, test: RankingDataset, trees: int, settings: Any) -> list[Any]:
    """NDCG@10 of each test query, by LightGBM's forest and by ours."""
    fitted = (fit(train, trees, settings, lambda _: None) for fit in (fit_theirs, fit_ours))
    return [NDCG(one.scores(test), test.y, test.offsets) for one in fitted]


def divided(name: str, data: RankingDataset, divisions: int, trees: int) -> None:
    """Each query of a real set, by forests that did not see it; what differs is its mean over divisions."""
    place = {qid: at for at, qid in enumerate(data.qid.tolist())}
    found = np.empty((divisions, 2, data.n_queries))
    for division in range(divisions):
        for train, test in data.folds(FOLDS, seed=division):
            found[division][:, [place[qid] for qid in test.qid.tolist()]] = both(train, test, trees, SMALL)
    theirs, ours = found.mean(axis=0)
    show(name, theirs, ours, "queries", divisions=divisions)


def drawn(queries: int, draws: int, trees: int) -> None:
    """Synthetic sets, one forest of each kind a draw. A line after every draw tells how far it is."""
    found = []
    for seed, (train, test) in enumerate(made(queries, draws)):
        found.append([NDCG.mean(values) for values in both(train, test, trees, large(queries))])
        print(f"    draw {seed}: LightGBM {found[-1][0]:.4f}  rankloop {found[-1][1]:.4f}", flush=True)
    theirs, ours = np.array(found).T
    show(f"synthetic, {queries:,} queries", theirs, ours, "draws")


def made(queries: int, draws: int) -> Iterator[tuple[RankingDataset, RankingDataset]]:
    shape = {"docs_per_query": DOCUMENTS, "n_features": FEATURES}
    for seed in range(draws):
        train = synthetic(n_queries=queries, seed=seed, **shape)
        yield train, synthetic(n_queries=TEST_QUERIES, seed=1000 + seed, **shape)


def show(name: str, theirs: Any, ours: Any, over: str, **more: int) -> None:
    """Means of both and of the difference with its interval; lists with nothing relevant are left out."""
    theirs, ours = (values[~np.isnan(theirs)] for values in (theirs, ours))
    gap = ours - theirs
    half = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
    low, high = gap.mean() - half, gap.mean() + half
    means = {"lightgbm": theirs.mean(), "rankloop": ours.mean()}
    table = "quality" if over == "queries" else "quality, drawn"
    record(table, set=name, **{over: len(gap)}, **more, **means, difference=gap.mean(), low=low, high=high)
    print(
        f"  {name:28} LightGBM {theirs.mean():.4f}  rankloop {ours.mean():.4f}  "
        f"difference {gap.mean():+.4f} [{low:+.4f}, {high:+.4f}] over {len(gap)} {over}",
        flush=True,
    )


def coarse(queries: int, trees: int, draws: int) -> None:
    """NDCG@10 and time of a round with the coarse gradients of many documents, and with exact ones."""
    ways: dict[str, Any] = {"exact": {"use_quantized_grad": False}, "coarse": None}
    values: dict[str, list[float]] = {name: [] for name in ways}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for train, test in made(queries, draws):
        for name, params in ways.items():
            ends: list[float] = []
            ranker = LambdaMART(
                trees=trees,
                threads=1,
                params=params,
                callbacks=[lambda _, ends=ends: ends.append(time.process_time())],
                **large(queries),
            ).fit(train)
            values[name].append(NDCG.mean(NDCG(ranker.predict(test), test.y, test.offsets)))
            took[name].append((ends[-1] - ends[0]) / (trees - 1))
    gap = np.array(values["coarse"]) - np.array(values["exact"])
    half = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
    found = {name: float(np.mean(one)) for name, one in values.items()}
    times = statistics.median(took["exact"]) / statistics.median(took["coarse"])
    low, high = gap.mean() - half, gap.mean() + half
    about = {"queries": queries, "trees": trees, "draws": len(gap)}
    record("coarse", **about, **found, difference=gap.mean(), low=low, high=high, times=times)
    print(
        f"\nNDCG@10 by exact gradients {found['exact']:.4f}, by coarse ones {found['coarse']:.4f}, "
        f"difference {gap.mean():+.4f} [{low:+.4f}, {high:+.4f}], a round {times:.2f} × as fast",
        flush=True,
    )


def real_sets() -> dict[str, RankingDataset]:
    folder = Path(os.environ.get("RANKLOOP_DATA") or "no-such-folder")
    if not folder.is_dir():
        print("  (set RANKLOOP_DATA to the folder of real collections to see them too)")
        return {}
    folds = sorted((folder / "webis_clueweb09_letor").glob("Fold*.txt"))
    return {
        "webis_clueweb09_letor": concat([read_svmlight(fold) for fold in folds]),
        "lightgbm_lambdarank": read_svmlight(folder / "lightgbm_lambdarank" / "rank.train"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the synthetic set")
    parser.add_argument("--divisions", type=int, default=DIVISIONS, help="of the real sets into folds")
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries and fewer trees")
    parser.add_argument("--only", choices=("gradient", "speed", "quality", "drawn", "coarse"))
    given = parser.parse_args()
    queries, trees = (QUERIES // 10, 30) if given.quick else (given.queries, given.trees)
    if given.only in (None, "coarse"):
        coarse(queries // 10, min(trees, COARSE_TREES), given.draws)
    if given.only in (None, "gradient", "speed"):
        gradient = gradients(queries)
        if given.only != "gradient":
            speed(queries, min(TIMED_TREES, trees), gradient)
    if given.only in (None, "quality"):
        print(f"\nNDCG@10 after {trees} trees, {given.divisions} divisions into {FOLDS} folds")
        for name, data in real_sets().items():
            divided(name, data, given.divisions, trees)
    if given.only in (None, "drawn"):
        print(f"\nNDCG@10 after {trees} trees, {given.draws} draws")
        drawn(queries, given.draws, trees)


if __name__ == "__main__":
    benchmark(main)
