"""What one forest lacks beside the best library: LambdaMART's defaults, with one thing changed at a time.

    python benchmarks/forests.py [--table changes|stopping|symmetric] [--seeds 3] [--resume FILE]

The development sets of auto_lab/sets.py, drawn or divided anew for each seed; training stops by the
validation queries, and test NDCG@10 is shown as the difference from the defaults. `sampled` is a learning
rate of 0.05, 15 leaves, 60 % of the features and 80 % of the queries for each tree; `per split` samples the
features for each split instead; with `noisy scores` LambdaRank is averaged over Gumbel noise. `stopping`
compares rules of stopping alone. `symmetric` compares the trees of rankloop with those of the libraries
under their own objectives, on the reporting sets with seeds that nothing else uses. `rounds` are those that
training takes, `time` its CPU time, compared with the defaults; the error of a mean is that over sets and
seeds.
"""

import argparse
import json
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from auto_lab.libraries import LIBRARIES, PATIENCE, TREES
from auto_lab.sets import DEVELOPMENT, REPORTING, Sets
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers.auto.view import View, varying_features
from results import benchmark, record

METRIC = metric("ndcg@10")
SAMPLED: dict[str, Any] = {
    "leaves": 15,
    "learning_rate": 0.05,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.8,
}
OURS: dict[str, dict[str, Any]] = {
    "symmetric": {"backend": "rankloop"},
    "symmetric, smoothed stopping": {"backend": "rankloop", "stopping": "smoothed"},
    "symmetric, rate of 0.05, smoothed": {
        "backend": "rankloop",
        "learning_rate": 0.05,
        "stopping": "smoothed",
    },
}
CHANGES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "smoothed stopping": {"stopping": "smoothed"},
    "8 linear leaves": {
        "leaves": 8,
        "params": {"linear_tree": True, "linear_lambda": 3.0, "min_data_in_leaf": 50},
    },
    "sampled": SAMPLED,
    "sampled, smoothed stopping": {"stopping": "smoothed", **SAMPLED},
    "sampled, per split": {
        **SAMPLED,
        "feature_fraction": 1.0,
        "params": {"feature_fraction_bynode": SAMPLED["feature_fraction"]},
    },
    "sampled, regression": {"loss": "squared", **SAMPLED},
    "sampled, z-scores and ranks within lists": {"by_query": True, **SAMPLED},
    **OURS,
    "symmetric, squared": {"backend": "rankloop", "loss": "squared"},
    "symmetric, centred squared": {"backend": "rankloop", "loss": "centredsquared"},
    "symmetric, noisy scores": {"backend": "rankloop", "loss": "gumbel(loss=lambdarank, samples=2)"},
    "symmetric, CatBoost's QueryRMSE": {"backend": "catboost", "loss": "backend:QueryRMSE", "leaves": 64},
}
STOPPING: dict[str, dict[str, Any]] = {
    "defaults": {},
    "patience of 100 rounds": {"patience": 100},
    "smoothed": {"stopping": "smoothed"},
    "smoothed, patience of 30 rounds": {"stopping": "smoothed", "patience": 30},
}


SYMMETRIC: dict[str, Any] = {
    "defaults": {},
    "smoothed stopping": {"stopping": "smoothed"},
    **OURS,
    "symmetric, grown by CatBoost": {"backend": "catboost", "leaves": 32},
    "LightGBM, lambdarank": ("lightgbm", "lambdarank"),
    "LightGBM, rank_xendcg": ("lightgbm", "rank_xendcg"),
    "XGBoost, rank:ndcg": ("xgboost", "rank:ndcg"),
    "CatBoost, QueryRMSE": ("catboost", "QueryRMSE"),
    "CatBoost, YetiRank": ("catboost", "YetiRank"),
}
TABLES: dict[str, tuple[dict[str, Any], dict[str, Callable[[int], Sets]], int]] = {  # and the first seed
    "changes": (CHANGES, DEVELOPMENT, 0),
    "stopping": (STOPPING, DEVELOPMENT, 0),
    "symmetric": (SYMMETRIC, REPORTING, 7),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--table", choices=TABLES, default="changes")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--resume", type=Path)
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    changes, makers, first = TABLES[asked.table]
    seeds = range(first, first + asked.seeds)
    done: dict[str, list[float]] = {}
    if asked.resume and asked.resume.exists():
        done = json.loads(asked.resume.read_text())
    few = rl.synthetic(n_queries=40, docs_per_query=10, n_features=5, seed=0)
    for change in changes.values():  # so that no time is that of loading and compiling
        fitted(change, few, few, few)
    for name, make in makers.items():
        for seed in seeds:
            missing = [what for what in changes if f"{name}/{seed}/{what}" not in done]
            sets = make(seed) if missing else []
            for what in missing:
                found = [fitted(changes[what], *one) for one in sets]
                done[f"{name}/{seed}/{what}"] = np.mean(found, axis=0).tolist()
                if asked.resume:
                    asked.resume.write_text(json.dumps(done))
    head = "".join(f"{name[:12]:>14}" for name in makers)
    print(f"{'':<44}{'rounds':>8}{'time':>8}{head}{'mean':>18}")
    for what in changes:
        show(asked.table, what, done, [*makers], seeds)


def fitted(change: Any, train: RankingDataset, valid: RankingDataset, test: RankingDataset) -> list[float]:
    """The metric on the test queries, the rounds that training took, and its CPU seconds."""
    start = time.process_time()
    if isinstance(change, tuple):
        library, objective = change
        scores, best = LIBRARIES[library][2]({"objective": objective}, train, valid, TREES, lambda: False)
        rounds = min(best + PATIENCE, TREES)
        seconds, found = time.process_time() - start, scores(test.X)
    else:
        params = {name: value for name, value in change.items() if name != "by_query"}
        view = View(by_query=varying_features(train, train.n_features)) if "by_query" in change else View()
        ranker = rl.LambdaMART(trees=TREES, threads=1, **params).fit(view.data(train), view.data(valid))
        seconds, found, rounds = (
            time.process_time() - start,
            ranker.predict(view.data(test)),
            len(ranker.curve_),
        )
    return [float(np.nanmean(METRIC(np.asarray(found, float), test.y, test.offsets))), rounds, seconds]


def show(table: str, what: str, done: dict[str, list[float]], names: list[str], seeds: range) -> None:
    """One line: the values of the defaults, or the differences from them, and rounds and time as ratios."""
    plain, found = (
        np.array([[done[f"{name}/{seed}/{one}"] for seed in seeds] for name in names])
        for one in ("defaults", what)
    )
    rounds, seconds = (float(found[..., at].sum() / plain[..., at].sum()) for at in (1, 2))
    values = found[..., 0] if what == "defaults" else (found - plain)[..., 0]
    form = ".4f" if what == "defaults" else "+.4f"
    by_set = dict(zip(names, values.mean(axis=1).tolist(), strict=True))
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if what != "defaults" else None
    cells = {name: format(value, form) for name, value in by_set.items()}
    mean = format(float(values.mean()), form) + ("" if error is None else f" ± {error:.4f}")
    record(table, what=what, rounds=format(rounds, ".2f"), time=format(seconds, ".2f"), mean=mean, **cells)
    line = f"{what:<44}{rounds:>8.2f}{seconds:>8.2f}" + "".join(f"{cell:>14}" for cell in cells.values())
    print(f"{line}{mean:>18}", flush=True)


if __name__ == "__main__":
    benchmark(main)
