"""What one forest lacks beside the best library: LambdaMART's defaults, with one thing changed at a time.

    python benchmarks/forests.py [--seeds 3] [--stopping] [--resume FILE]

The development sets of auto_lab/sets.py, drawn or divided anew for each seed; training stops by the
validation queries, and test NDCG@10 is shown as the difference from the defaults. `sampled` is a learning
rate of 0.05, 15 leaves, 60 % of the features and 80 % of the queries for each tree; `per split` samples the
features for each split instead. `--stopping` compares rules of stopping alone. `rounds` are those that
training takes, compared with the defaults; the error of a mean is that over sets and seeds.
"""

import argparse
import json
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from auto_lab.sets import DEVELOPMENT
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
    "symmetric trees, CatBoost's QueryRMSE": {
        "backend": "catboost",
        "loss": "backend:QueryRMSE",
        "leaves": 64,
    },
}
STOPPING: dict[str, dict[str, Any]] = {
    "defaults": {},
    "patience of 100 rounds": {"patience": 100},
    "smoothed": {"stopping": "smoothed"},
    "smoothed, patience of 30 rounds": {"stopping": "smoothed", "patience": 30},
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--stopping", action="store_true")
    options.add_argument("--resume", type=Path)
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    table, changes = ("stopping", STOPPING) if asked.stopping else ("changes", CHANGES)
    done: dict[str, list[float]] = {}
    if asked.resume and asked.resume.exists():
        done = json.loads(asked.resume.read_text())
    for name, make in DEVELOPMENT.items():
        for seed in range(asked.seeds):
            missing = [what for what in changes if f"{name}/{seed}/{what}" not in done]
            sets = make(seed)[0] if missing else None
            for what in missing:
                assert sets is not None
                done[f"{name}/{seed}/{what}"] = fitted(changes[what], *sets)
                if asked.resume:
                    asked.resume.write_text(json.dumps(done))
    print(f"{'':<44}{'rounds':>8}" + "".join(f"{name[:12]:>14}" for name in DEVELOPMENT) + f"{'mean':>18}")
    for what in changes:
        show(table, what, done, asked.seeds)


def fitted(
    change: dict[str, Any], train: RankingDataset, valid: RankingDataset, test: RankingDataset
) -> list[float]:
    """The metric on the test queries, and the rounds that training took."""
    params = {name: value for name, value in change.items() if name != "by_query"}
    view = View(by_query=varying_features(train, train.n_features)) if "by_query" in change else View()
    ranker = rl.LambdaMART(trees=1500, threads=1, **params).fit(view.data(train), view.data(valid))
    return [
        float(np.nanmean(METRIC(ranker.predict(view.data(test)), test.y, test.offsets))),
        len(ranker.curve_),
    ]


def show(table: str, what: str, done: dict[str, list[float]], seeds: int) -> None:
    """One line: the values of the defaults, or the differences from them, and the rounds as a ratio."""
    plain, found = (
        np.array([[done[f"{name}/{seed}/{one}"] for seed in range(seeds)] for name in DEVELOPMENT])
        for one in ("defaults", what)
    )
    rounds = float(found[..., 1].sum() / plain[..., 1].sum())
    values = found[..., 0] if what == "defaults" else (found - plain)[..., 0]
    form = ".4f" if what == "defaults" else "+.4f"
    by_set = dict(zip(DEVELOPMENT, values.mean(axis=1).tolist(), strict=True))
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if what != "defaults" else None
    cells = {name: format(value, form) for name, value in by_set.items()}
    mean = format(float(values.mean()), form) + ("" if error is None else f" ± {error:.4f}")
    record(table, what=what, rounds=format(rounds, ".2f"), mean=mean, **cells)
    line = f"{what:<44}{rounds:>8.2f}" + "".join(f"{cell:>14}" for cell in cells.values())
    print(f"{line}{mean:>18}", flush=True)


if __name__ == "__main__":
    benchmark(main)
