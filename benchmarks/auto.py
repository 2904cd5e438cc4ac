"""AutoRanker beside the tree libraries, each tuned with the same time and refitted on train and valid.

    python benchmarks/auto.py [--minutes 2] [--development] [--wild] [--sets NAME ...] [--resume FILE]
                              [--wall]

A library, used as it is, gets its defaults and then random settings within the time, compared on the
validation set; the best is fitted again on training and validation queries together. The bar is strict:
the best of the three libraries on the test queries. `ours` is LambdaMART alone, on trees of rankloop and of
LightGBM, tuned and refitted in the same way. Everything runs on one thread, and minutes are minutes of
processor time, as the machine may be shared (`--wall`: by the clock). The sets of the published table are
those of `REPORTING` in auto_lab/sets.py, or with `--wild` those of auto_lab/wild.py; those of
`--development` decided how AutoRanker works. Results go to the file of `--resume` after every system of every
set, and are not computed again.
"""

import argparse
import json
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from auto_lab.libraries import LIBRARIES, tuned
from auto_lab.sets import DEVELOPMENT, REPORTING, Sets
from auto_lab.wild import WILD, wild
from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers.auto import clock
from rankloop.rankers.auto.division import joined
from results import benchmark, record

METRIC = metric("ndcg@10")
RESAMPLES = 10_000
LOSSES = ("lambdagap", "lambdagap", "lambdarank", "centredsquared", "xendcg")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=2.0)
    options.add_argument("--development", action="store_true")
    options.add_argument("--wild", action="store_true", help="the sets of auto_lab/wild.py")
    options.add_argument("--sets", nargs="*")
    options.add_argument("--systems", nargs="*", default=[*LIBRARIES, "ours", "auto"])
    options.add_argument("--resume", type=Path)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--wall", action="store_true")
    options.add_argument(
        "--table", default="sets", help="the table of --json; sets of another run have another"
    )
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    clock.now = time.monotonic if asked.wall else time.process_time
    makers = DEVELOPMENT if asked.development else REPORTING
    if asked.wild:
        makers = {name: wild(name, 2 if asked.development else 12) for name in WILD}
    done: dict[str, Any] = {}
    if asked.resume and asked.resume.exists():
        done = json.loads(asked.resume.read_text())
    print(f"{'set':<22}{'queries':>8}" + "".join(f"{name:>10}" for name in asked.systems), end="")
    print(f"   gains with 95 % intervals, of ours and auto   (NDCG@10, {asked.minutes:g} minutes each)")
    ahead = behind = 0
    for name in asked.sets or makers:
        found = done.setdefault(name, {})
        sets = makers[name](asked.seed) if not {*asked.systems} <= {*found} else []
        for system in asked.systems:
            if system not in found:
                found[system] = measured(system, sets, asked.minutes, asked.seed)
                if asked.resume:
                    asked.resume.write_text(json.dumps(done))
        low, high = show(name, found, asked.systems, asked.table)
        ahead, behind = ahead + (low > 0), behind + (high < 0)
    for system in asked.systems:
        took = [done[name][system]["seconds"] for name in asked.sets or makers]
        print(
            f"{system}: {min(took):.0f} to {max(took):.0f} seconds of {60 * asked.minutes:.0f}, with scoring"
        )
    print(f"clearly ahead of the best library on {ahead} sets (goal: half), behind on {behind} (goal: none)")


def measured(system: str, sets: Sets, minutes: float, seed: int) -> dict[str, Any]:
    """The metric of every test query, of all folds."""
    values: list[float] = []
    tried, start = [], clock.now()
    for train, valid, test in sets:
        if system == "auto":
            ranker = rl.AutoRanker(minutes=minutes, threads=1, seed=seed).fit(train, valid)
            scores, count = ranker.predict(test), len(ranker.leaderboard_.rows)
        elif system == "ours":
            scores, count = alone(train, valid, test, 60 * minutes, seed)
        else:
            both = joined(train, valid)
            predict, count = tuned(system, train, valid, both, 60 * minutes, clock.now, seed)
            scores = predict(test.X)
        values += METRIC(np.asarray(scores, np.float64), test.y, test.offsets).tolist()
        tried.append(count)
    return {"values": values, "tried": tried, "seconds": (clock.now() - start) / len(sets)}


def show(name: str, found: dict[str, Any], systems: list[str], table: str) -> tuple[float, float]:
    """One line; the intervals of the gains of AutoRanker and LambdaMART over the best library on test."""
    values = {system: np.array(found[system]["values"]) for system in systems}
    means = {system: float(np.nanmean(one)) for system, one in values.items()}
    queries = int(np.isfinite(next(iter(values.values()))).sum())
    text = f"{name:<22}{queries:>8}" + "".join(f"{means[system]:>10.4f}" for system in systems)
    libraries = [system for system in systems if system in LIBRARIES]
    gains = {f"{system}_seconds": float(found[system]["seconds"]) for system in systems}
    for system in ("ours", "auto") if libraries else ():
        if system in systems:
            gap = values[system] - values[max(libraries, key=means.__getitem__)]
            low, high = interval(gap)
            gains |= {f"{system}_gain": float(np.nanmean(gap)), f"{system}_low": low, f"{system}_high": high}
            clear = "" if low <= 0 <= high else " *"
            text += f"{np.nanmean(gap):>+10.4f}   [{low:+.4f}, {high:+.4f}]{clear}"
    record(table, set=name, queries=queries, **means, **gains)
    print(text, flush=True)
    return gains.get("auto_low", 0.0), gains.get("auto_high", 0.0)


def interval(gap: Floats) -> tuple[float, float]:
    """The paired interval of the mean over queries, by resampling them."""
    gap = gap[np.isfinite(gap)]
    rng = np.random.default_rng(0)
    drawn = np.array([gap[rng.integers(0, len(gap), len(gap))].mean() for _ in range(RESAMPLES)])
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return low, high


def alone(
    train: RankingDataset, valid: RankingDataset, test: RankingDataset, seconds: float, seed: int
) -> tuple[Any, int]:
    """Our LambdaMART: the best of random settings, fitted again on all queries."""
    end = clock.now() + 0.85 * seconds
    best: tuple[float, dict[str, Any], int] | None = None
    tried = 0
    for params in settings(seed):
        if best is not None and clock.now() > end:
            break
        stop: Callable[[Any], bool] = lambda _: clock.now() > end  # noqa: E731
        ranker = rl.LambdaMART(trees=1500, threads=1, stopping="smoothed", callbacks=[stop], **params)
        ranker.fit(train, valid)
        value = float(np.nanmean(METRIC(ranker.predict(valid), valid.y, valid.offsets)))
        tried += 1
        if best is None or value > best[0]:
            best = value, params, ranker.n_trees_
    assert best is not None
    _, params, trees = best
    both = rl.LambdaMART(trees=trees, threads=1, **params).fit(joined(train, valid))
    return both.predict(test), tried


def settings(seed: int) -> Iterator[dict[str, Any]]:
    """Symmetric trees, those of LightGBM, then random settings, of which more are symmetric."""
    rng = np.random.default_rng([seed, 1])
    symmetric = {"backend": "rankloop", "leaves": 32}
    yield {**symmetric, "loss": "lambdagap"}
    yield {**symmetric, "loss": "lambdagap", "learning_rate": 0.05}
    yield {**symmetric, "loss": "centredsquared"}
    yield {"loss": "lambdagap"}
    while True:
        params = {
            "loss": str(rng.choice(LOSSES)),
            "learning_rate": float(rng.choice([0.03, 0.05, 0.1])),
            "feature_fraction": float(rng.choice([0.3, 0.5, 0.7, 1.0])),
            "bagging_fraction": float(rng.choice([0.6, 0.8, 1.0])),
            "l2": float(rng.choice([0.0, 1.0, 10.0])),
        }
        if rng.random() < 0.7:
            yield params | {"backend": "rankloop", "leaves": int(rng.choice([8, 16, 32, 64]))}
        else:
            more = {"min_data_in_leaf": int(rng.choice([1, 5, 20]))}
            yield params | {"leaves": int(rng.choice([7, 15, 31, 63])), "params": more}


if __name__ == "__main__":
    benchmark(main)
