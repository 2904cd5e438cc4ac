"""`tune` beside random search: the best cross-validated NDCG@10 after n trials, over twenty seeds.

    nice python benchmarks/tune.py [--trials 20] [--seeds 20] [--development] [--sets NAME ...] [--fits FILE]
                             [--table NAME]

The goal: after n trials, what random search needs 2 n for. Both search the same ranges of LambdaMART by the
same three folds of whole queries. A trial is a whole cross-validation: random search takes 3 fits for each,
`tune` at most 3 n fits in all, and begins more settings with them where it prunes some. The last column has
it under a stricter count, in which each setting that was begun is a trial also where it was pruned: the best
of those finished among the first n begun in the same run.

Every parameter is rounded to a grid, so that seeds share fits; `--fits` keeps them in a file (.npz). Rounding
makes settings the same that are not; `cells` of the results is how many were different. The model,
the pruning and the known good settings of `tune` were chosen on the sets of `--development`, which are not in
the published table.
"""

import argparse
import itertools
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import optuna

import rankloop as rl
from auto_lab import sets as makers
from quality import judged_movies, movie_queries
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers.tune import suggest
from results import benchmark, record

METRIC = metric("ndcg@10")
SPACE: dict[str, Any] = {
    "leaves": (4, 64, "log"),
    "learning_rate": (0.02, 0.3, "log"),
    "feature_fraction": (0.2, 1.0),
    "l2": (0.01, 100.0, "log"),
}
GRID: dict[str, list[Any]] = {
    "leaves": [4, 8, 16, 32, 64],
    "learning_rate": [0.02, 0.04, 0.08, 0.15, 0.3],
    "feature_fraction": [0.25, 0.5, 0.75, 1.0],
    "l2": [0.01, 0.3, 10.0, 100.0],
}
QUERIES, FEATURES, TREES, FOLDS = 90, 20, 30, 3


class Fixed(RankingDataset):
    """A data set with one division into folds, whatever the seed."""

    def folds(self, n: int = 5, *, seed: int = 0, stratify: str | None = None) -> Any:
        return super().folds(n, seed=0, stratify=stratify)


@dataclass(kw_only=True, eq=False, repr=False)
class Rounded(rl.LambdaMART):
    """LambdaMART with its parameters rounded to the grid, which remembers the scores of the fold left out."""

    seen: ClassVar[dict[str, Any]] = {}

    def fit(self, train: Any, valid: Any = None, **more: Any) -> "Rounded":
        setting = {name: nearest(getattr(self, name), values) for name, values in GRID.items()}
        rows = zlib.crc32(train.y.tobytes(), zlib.crc32(train.X.tobytes()))  # sets of one draw share X, not y
        self.key = " ".join([*map(str, setting.values()), str(rows)])
        if self.key not in self.seen:
            self.forest = rl.LambdaMART(trees=TREES, threads=1, **setting).fit(train)
        return self

    def predict(self, data: Any, **more: Any) -> Any:
        if self.key not in self.seen:
            self.seen[self.key] = self.forest.predict(data)
        return self.seen[self.key]


def nearest(value: float, values: list[Any]) -> Any:
    distance = [abs(np.log(value / one)) if value > 0 else one for one in values]
    return values[int(np.argmin(distance))]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=20)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--development", action="store_true")
    options.add_argument("--sets", nargs="*")
    options.add_argument("--fits", type=Path)
    options.add_argument(
        "--table", default="sets", help="the table of --json; sets of another run have another"
    )
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if asked.fits and asked.fits.exists():
        Rounded.seen.update(np.load(asked.fits))
    n = asked.trials
    print(
        f"{'set':<24}{'random n':>10}{'random 2n':>11}{'tune n':>9}{'begun':>7}{'less random 2n':>19}", end=""
    )
    print(f"{'each begun counts':>21}   (n = {n})")
    reached = 0
    sets = DEVELOPMENT if asked.development else REPORTING
    for name in asked.sets or sets:
        data = sets[name]()
        chance = [by_chance(data, 2 * n, seed) for seed in range(asked.seeds)]
        random = np.array([values for values, _ in chance])
        studies = [by_tune(data, n, seed) for seed in range(asked.seeds)]
        if asked.fits:
            np.savez_compressed(asked.fits, **Rounded.seen)
        half, whole = random[:, :n].max(axis=1), random.max(axis=1)
        tuned = np.array([study.best_value_ for study in studies])
        strict = np.array([best_of(study.trials[:n]) for study in studies])
        (gap, error), (gap_old, error_old) = (mean_and_error(one - whole) for one in (tuned, strict))
        reached += gap >= 0
        begun = np.mean([len(study.trials) for study in studies])
        means = {"random_n": half.mean(), "random_2n": whole.mean(), "tune_n": tuned.mean(), "begun": begun}
        cells = {
            "cells": np.mean([cells_of([one.params for one in study.trials]) for study in studies]),
            "random_cells": np.mean([cells_of(params) for _, params in chance]),
        }
        old = {"difference_old": gap_old, "error_old": error_old}
        record(asked.table, set=name, trials=n, **means, difference=gap, error=error, **old, **cells)
        print(
            f"{name:<24}{half.mean():>10.4f}{whole.mean():>11.4f}{tuned.mean():>9.4f}{begun:>7.1f}"
            f"{gap:>+10.4f} ± {error:.4f}{gap_old:>+12.4f} ± {error_old:.4f}",
            flush=True,
        )
    of = f"{reached} of {len(asked.sets or sets)} sets"
    print(f"tune reaches with n trials what random search has after 2 n on {of}")


def mean_and_error(values: Any) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def best_of(trials: Any) -> float:
    return max(one.mean for one in trials if not one.pruned)


def cells_of(settings: Any) -> int:
    """How many different settings these are on the grid."""
    return len({tuple(nearest(one[name], values) for name, values in GRID.items()) for one in settings})


def by_tune(data: Fixed, trials: int, seed: int) -> rl.rankers.Study:
    """A study with the fits of so many cross-validations."""
    study = rl.tune(Rounded(), SPACE, data, "ndcg@10", folds=FOLDS, trials=trials, seed=seed)
    assert sum(len(one.values) for one in study.trials) <= trials * FOLDS
    return study


def by_chance(data: Fixed, trials: int, seed: int) -> tuple[list[float], list[dict[str, Any]]]:
    """The cross-validated value of each of many random settings, and the settings."""
    folds = list(data.folds(FOLDS))

    def value(trial: Any) -> float:
        params = {name: suggest(trial, name, range_) for name, range_ in SPACE.items()}
        one = Rounded(**params)
        found = [float(np.nanmean(METRIC(one.fit(a).predict(b), b.y, b.offsets))) for a, b in folds]
        return float(np.mean(found))

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(value, n_trials=trials)
    return [float(trial.value) for trial in study.trials], [trial.params for trial in study.trials]


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
}


if __name__ == "__main__":
    benchmark(main)
