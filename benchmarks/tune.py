"""`tune` beside random search: the best cross-validated NDCG@10 after n trials, over twenty seeds.

    nice python benchmarks/tune.py [--trials 20] [--seeds 20] [--development] [--sets NAME ...]
                                   [--resume FILE] [--table NAME]

The goal: after n trials, what random search needs 2 n for. Both search the same ranges of LambdaMART by the
same three folds of whole queries. A trial is a whole cross-validation, 3 fits: random search makes 6 n of
them, `tune` at most 3 n, and it begins more than n settings with these, most of them on one fold only.

Values are taken as they come, from ranges without steps. Results go to the file of `--resume` after every
set, and are not computed again. The model, the pruning and the known good settings of `tune` were chosen on
the sets of `--development`, which are not in the published table.
"""

import argparse
import itertools
import json
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from sklearn.base import clone

import rankloop as rl
from auto_lab import sets as makers
from quality import judged_movies, movie_queries
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from results import benchmark, record

METRIC = metric("ndcg@10")
SPACE: dict[str, Any] = {
    "leaves": (4, 64, "log"),
    "learning_rate": (0.02, 0.3, "log"),
    "feature_fraction": (0.2, 1.0),
    "l2": (0.01, 100.0, "log"),
}
QUERIES, FEATURES, FOLDS = 90, 20, 3
RANKER = rl.LambdaMART(trees=30, threads=1)
WHAT = ("random n", "random 2n", "tune n")


class Fixed(RankingDataset):
    """A data set with one division into folds, whatever the seed."""

    def folds(self, n: int = 5, *, seed: int = 0, stratify: str | None = None) -> Any:
        return super().folds(n, seed=0, stratify=stratify)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=20)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--development", action="store_true")
    options.add_argument("--sets", nargs="*")
    options.add_argument("--resume", type=Path)
    options.add_argument(
        "--table", default="sets", help="the table of --json; sets of another run have another"
    )
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    done: dict[str, Any] = {}
    if asked.resume and asked.resume.exists():
        done = json.loads(asked.resume.read_text())
    n = asked.trials
    print(f"{'set':<24}" + "".join(f"{what:>11}" for what in WHAT), end="")
    print(f"  begun   tune less random 2n   (n = {n})")
    sets, gaps = DEVELOPMENT if asked.development else REPORTING, []
    for name in asked.sets or sets:
        if name not in done:
            done[name] = measured(sets[name](), n, asked.seeds)
            if asked.resume:
                asked.resume.write_text(json.dumps(done))
        found = {what: np.array(done[name][what]) for what in WHAT}
        means = {what.replace(" ", "_"): one.mean() for what, one in found.items()}
        gap, error = mean_and_error(found["tune n"] - found["random 2n"])
        begun = float(np.mean(done[name]["begun"]))
        record(asked.table, set=name, trials=n, **means, begun=begun, difference=gap, error=error)
        gaps.append(gap)
        print(
            f"{name:<24}" + "".join(f"{mean:>11.4f}" for mean in means.values()) + f"{begun:>7.1f}"
            f"{gap:>+12.4f} ± {error:.4f}",
            flush=True,
        )
    reached = sum(gap >= 0 for gap in gaps)
    print(f"tune reaches with n trials what random search has after 2 n on {reached} of {len(gaps)} sets")


def measured(data: Fixed, n: int, seeds: int) -> dict[str, list[float]]:
    """The best value by seed of each search, and how many settings `tune` began."""
    found: dict[str, list[float]] = {what: [] for what in (*WHAT, "begun")}
    for seed in range(seeds):
        random = by_chance(data, 2 * n, seed)
        study = by_tune(data, n, seed)
        for what, value in zip(
            found, (max(random[:n]), max(random), study.best_value_, len(study.trials)), strict=True
        ):
            found[what].append(float(value))
    return found


def mean_and_error(values: Any) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def by_tune(data: Fixed, trials: int, seed: int) -> rl.rankers.Study:
    """A study with the fits of so many cross-validations."""
    study = rl.tune(RANKER, SPACE, data, "ndcg@10", folds=FOLDS, trials=trials, seed=seed)
    assert sum(len(one.values) for one in study.trials) <= trials * FOLDS
    return study


def by_chance(data: Fixed, trials: int, seed: int) -> list[float]:
    """The cross-validated value of each of many random settings."""
    folds = list(data.folds(FOLDS))

    def value(trial: Any) -> float:
        params = {name: suggested(trial, name, *range_) for name, range_ in SPACE.items()}
        one = clone(RANKER).set_params(**params)
        found = [float(np.nanmean(METRIC(one.fit(a).predict(b), b.y, b.offsets))) for a, b in folds]
        return float(np.mean(found))

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(value, n_trials=trials)
    return [float(trial.value) for trial in study.trials]


def suggested(trial: Any, name: str, low: float, high: float, scale: str = "") -> Any:
    suggest = trial.suggest_int if isinstance(low, int) else trial.suggest_float
    return suggest(name, low, high, log=scale == "log")


def fixed(data: RankingDataset) -> Fixed:
    return Fixed.from_groups(data.X, data.y, data.lengths)


def made(maker: Any, draw: int) -> Callable[[], Fixed]:
    return lambda: fixed(makers.drawn(maker, draw, QUERIES, FEATURES, seed=0))


def sparse(queries: int, features: int, density: float, relevant: float, noise: float) -> Fixed:
    """A tenth of the features dense, the others mostly 0; this share of the documents is relevant."""
    rng = np.random.default_rng([queries, 77])
    sizes = rng.integers(5, 26, queries)
    shape = (int(sizes.sum()), features)
    filled = np.minimum(density * rng.exponential(size=features), 0.9)
    X = np.where(rng.random(shape) < filled, rng.exponential(size=shape), 0).astype(np.float32)
    X[:, : features // 10] = rng.normal(size=(len(X), features // 10))
    utility = X @ np.where(rng.random(features) < 0.15, rng.normal(size=features), 0)
    utility = utility / utility.std() + 0.7 * np.tanh(X[:, 0] * X[:, 1])
    utility += 0.7 * (X[:, 2] > 0) * X[:, features // 10] + noise * rng.normal(size=len(X))
    grades = 1 - relevant / np.array([1, 3, 10])
    return fixed(RankingDataset.from_groups(X, np.digitize(utility, np.quantile(utility, grades)), sizes))


def one_relevant(queries: int, features: int) -> Fixed:
    """One relevant document in each list."""
    rng = np.random.default_rng([queries, 78])
    sizes = rng.integers(10, 41, queries)
    X = rng.normal(size=(sizes.sum(), features)).astype(np.float32)
    utility = sum(np.sin(rng.uniform(0.5, 2) * X[:, i]) for i in range(6)) + X[:, 6] * X[:, 7]
    utility = utility + 1.5 * rng.normal(size=len(X))
    best = np.maximum.reduceat(utility, np.r_[0, np.cumsum(sizes)[:-1]])
    return fixed(RankingDataset.from_groups(X, utility == np.repeat(best, sizes), sizes))


def webis(fold: int, seed: int) -> Fixed:
    """A training fold, with 60 random documents of each list."""
    data = makers.catalog.load("webis-clueweb09", part="train", fold=fold)
    rng = np.random.default_rng(seed)
    rows = [np.sort(a + rng.permutation(b - a)[:60]) for a, b in itertools.pairwise(data.offsets)]
    some = np.concatenate(rows)
    return fixed(RankingDataset.from_groups(data.X[some], data.y[some], np.minimum(data.lengths, 60)))


def movies(first: int) -> Fixed:
    """The judged films of 200 queries."""
    (lists,) = judged_movies(movie_queries()[first : first + 200])
    return fixed(lists)


DEVELOPMENT: dict[str, Callable[[], Fixed]] = {
    "network": made(makers.network, 4),
    "steps": made(makers.steps, 4),
    "within": made(makers.within, 4),
    "counts": made(makers.counts, 4),
    "linear": made(makers.linear, 4),
    "sparse, 150 queries": lambda: sparse(150, 200, 0.05, 0.2, 0.8),
    "sparse, 80 queries": lambda: sparse(80, 120, 0.1, 0.1, 1.2),
    "sparse, 200 queries": lambda: sparse(200, 200, 0.03, 0.45, 1.0),
    "one relevant, 60": lambda: one_relevant(60, 15),
    "one relevant, 200": lambda: one_relevant(200, 30),
    "webis": lambda: webis(1, 0),
    "steps, 6": made(makers.steps, 6),
    "within, 6": made(makers.within, 6),
    "sparse, 100 queries": lambda: sparse(100, 100, 0.08, 0.2, 0.8),
    "sparse, 180 queries": lambda: sparse(180, 200, 0.04, 0.15, 1.0),
    "one relevant, 100": lambda: one_relevant(100, 20),
    "webis, fold 3": lambda: webis(3, 3),
    "movies": lambda: movies(2000),
    "movies, others": lambda: movies(2200),
    "movies, 2400": lambda: movies(2400),
    **{
        f"movies, {first}": lambda first=first: movies(first)
        for first in (1000, 1200, 1400, 1600, 2600, 2800, 3000, 3200)
    },
    "network, 8": made(makers.network, 8),
    "steps, 8": made(makers.steps, 8),
    "counts, 8": made(makers.counts, 8),
    "linear, 8": made(makers.linear, 8),
}
REPORTING: dict[str, Callable[[], Fixed]] = {
    "additive": made(makers.additive, 5),
    "kinds": made(makers.kinds, 5),
    "products": made(makers.products, 5),
    "LightGBM's example": lambda: fixed(makers.catalog.load("lightgbm-example", part="train")),
    "movies": lambda: movies(4000),
    "movies, 6000": lambda: movies(6000),
    "movies, 8000": lambda: movies(8000),
    "movies, 5000": lambda: movies(5000),
    "movies, 7000": lambda: movies(7000),
    "movies, 9000": lambda: movies(9000),
}


if __name__ == "__main__":
    benchmark(main)
