"""AutoRanker beside the tree libraries, each tuned with the same time and refitted on train and valid.

    python benchmarks/auto.py [--minutes 2] [--sets NAME ...] [--resume FILE]

A library gets random settings within the time, compared on the validation set; the best is fitted again on
training and validation queries together with its best number of trees. The bar is the best of the three
libraries on the test queries. Results go to the file of `--resume` after every
set, and are not computed again.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers.auto_ranker import _joined

METRIC = "ndcg@10"
RESAMPLES = 4000
OWN = {
    "lightgbm": ("backend:lambdarank", "backend:regression", "backend:rank_xendcg"),
    "xgboost": ("backend:rank:ndcg", "backend:rank:pairwise", "backend:reg:squarederror"),
    "catboost": ("backend:QueryRMSE", "backend:YetiRank", "backend:RMSE"),
}
Sets = tuple[RankingDataset, RankingDataset, RankingDataset]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=2.0)
    options.add_argument("--sets", nargs="*", default=[*SETS])
    options.add_argument("--resume", type=Path)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    done = json.loads(asked.resume.read_text()) if asked.resume and asked.resume.exists() else {}
    print(f"{'set':<22}{'queries':>8}{'auto':>9}" + "".join(f"{name:>10}" for name in OWN), end="")
    print(f"{'ours':>9}{'gain':>10}   95 % interval")
    for name in asked.sets:
        if name not in done:
            done[name] = one(SETS[name](asked.seed), asked.minutes, asked.seed)
            if asked.resume:
                asked.resume.write_text(json.dumps(done, indent=1))
        print(line(name, done[name]), flush=True)


def line(name: str, found: dict[str, Any]) -> str:
    means = "".join(f"{found['means'][library]:>10.4f}" for library in OWN)
    low, high = found["interval"]
    clear = "" if low <= 0 <= high else " *"
    return (
        f"{name:<22}{found['queries']:>8}{found['means']['auto']:>9.4f}{means}{found['means']['ours']:>9.4f}"
        f"{found['gain']:>+10.4f}   [{low:+.4f}, {high:+.4f}]{clear}"
    )


def one(sets: Sets, minutes: float, seed: int) -> dict[str, Any]:
    """The test metric of every system, and the gain over the best library with a bootstrap interval."""
    train, valid, test = sets
    values = {library: of(tuned(library, OWN[library], train, valid, minutes, seed), test) for library in OWN}
    values["ours"] = of(tuned("lightgbm", ("lambdagap",), train, valid, minutes, seed), test)
    values["auto"] = of(rl.AutoRanker(minutes=minutes, threads=threads(), seed=seed).fit(train, valid), test)
    means = {name: float(np.nanmean(one)) for name, one in values.items()}
    best = max(OWN, key=means.__getitem__)
    gap = values["auto"] - values[best]
    gap = gap[np.isfinite(gap)]
    rng = np.random.default_rng(seed)
    drawn = gap[rng.integers(0, len(gap), (RESAMPLES, len(gap)))].mean(axis=1)
    interval = [float(end) for end in np.quantile(drawn, [0.025, 0.975])]
    return {"queries": test.n_queries, "means": means, "gain": float(gap.mean()), "interval": interval}


def of(ranker: Any, test: RankingDataset) -> Any:
    return metric(METRIC)(ranker.predict(test), test.y, test.offsets)


def threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))


def tuned(
    library: str,
    losses: tuple[str, ...],
    train: RankingDataset,
    valid: RankingDataset,
    minutes: float,
    seed: int,
) -> Any:
    """The best of random settings within the time, fitted again on all queries."""
    end = time.monotonic() + 60 * minutes * 0.8
    best: tuple[float, dict[str, Any], int] | None = None
    for params in settings(losses, seed):
        if best is not None and time.monotonic() > end:
            break
        ranker = rl.LambdaMART(
            backend=library,
            trees=1500,
            threads=threads(),
            seed=seed,
            callbacks=[lambda _: time.monotonic() > end],
            **params,
        ).fit(train, valid)
        value = float(np.nanmean(of(ranker, valid)))
        if best is None or value > best[0]:
            best = value, params, ranker.n_trees_
    assert best is not None
    _, params, trees = best
    everything = _joined(train, valid)
    return rl.LambdaMART(backend=library, trees=trees, threads=threads(), seed=seed, **params).fit(everything)


def settings(losses: tuple[str, ...], seed: int) -> Iterator[dict[str, Any]]:
    """The library's defaults under each loss, then random ones."""
    rng = np.random.default_rng([seed, 1])
    yield from ({"loss": loss} for loss in losses)
    while True:
        yield {
            "loss": str(rng.choice(losses)),
            "leaves": int(rng.choice([7, 15, 31, 63, 127])),
            "learning_rate": float(rng.choice([0.03, 0.05, 0.1])),
            "feature_fraction": float(rng.choice([0.3, 0.5, 0.7, 1.0])),
            "l2": float(rng.choice([0.0, 1.0, 10.0])),
        }


def _three(data: RankingDataset, seed: int) -> Sets:
    train, valid, test = data.split(0.6, 0.15, 0.25, seed=seed)
    return train, valid, test


def _example(seed: int) -> Sets:
    folder = Path(os.environ["RANKLOOP_DATA"]) / "lightgbm_lambdarank"
    every, test = (_with_queries(folder / f"rank.{part}") for part in ("train", "test"))
    train, valid = every.split(0.8, seed=seed)
    width = max(train.n_features, test.n_features)
    return _wide(train, width), _wide(valid, width), _wide(test, width)


def _with_queries(path: Path) -> RankingDataset:
    """LightGBM's example: rows without query ids, and a file of list lengths beside them."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), zero_based=True)
    sizes = np.loadtxt(f"{path}.query", dtype=np.int64)
    return RankingDataset.from_groups(X.toarray().astype(np.float32), y, sizes)


def _wide(data: RankingDataset, width: int) -> RankingDataset:
    missing = width - data.n_features
    return data if not missing else data.replace(X=np.pad(data.X, ((0, 0), (0, missing))))


def _made(maker: Callable[[np.random.Generator, Any], Any], noise: float) -> Callable[[int], Sets]:
    """A synthetic set: 800 queries of 5 to 40 documents, 20 features, graded by quantiles of the utility."""

    def make(seed: int) -> Sets:
        rng = np.random.default_rng([seed, 9])
        sizes = rng.integers(5, 41, 800)
        query = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.normal(size=(sizes.sum(), 20)).astype(np.float32)
        X[:, :10] += rng.normal(size=(len(sizes), 10)).astype(np.float32)[query]  # a level of the query
        utility = maker(rng, X) + noise * rng.normal(size=len(X))
        utility = utility * np.exp(rng.normal(size=len(sizes)))[query]
        y = np.digitize(utility, np.quantile(utility, [0.6, 0.8, 0.92, 0.98]))
        return _three(RankingDataset.from_groups(X, y, sizes), seed)

    return make


def _network(rng: np.random.Generator, X: Any) -> Any:
    hidden = np.tanh(X @ rng.normal(size=(20, 16)) / 3)
    return hidden @ rng.normal(size=16)


def _additive(rng: np.random.Generator, X: Any) -> Any:
    return sum(np.sin(rng.uniform(0.5, 2) * X[:, i] + rng.normal()) for i in range(12))


def _linear(rng: np.random.Generator, X: Any) -> Any:
    return X[:, rng.permutation(20)[:6]] @ rng.normal(size=6)


def _products(rng: np.random.Generator, X: Any) -> Any:
    pairs = rng.permutation(20).reshape(-1, 2)[:6]
    return sum(X[:, a] * X[:, b] for a, b in pairs)


SETS: dict[str, Callable[[int], Sets]] = {
    "LightGBM's example": _example,
    "network": _made(_network, 0.5),
    "additive": _made(_additive, 0.5),
    "linear": _made(_linear, 0.5),
    "products": _made(_products, 0.5),
    "synthetic": lambda seed: _three(
        rl.synthetic(n_queries=800, docs_per_query=25, n_features=25, seed=seed), seed
    ),
}


if __name__ == "__main__":
    main()
