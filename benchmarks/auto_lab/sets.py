"""Training, validation and test queries, of two kinds.

`DEVELOPMENT` sets decided how AutoRanker and LambdaMART work; `REPORTING` sets were used for nothing but
the published table. They share no test query and no draw of a maker, and of the movies no query; products
and webis are only in the second group. A maker gives 1,000 test queries: with 200, a gain of 0.005 hides in
its interval.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from rankloop.data import RankingDataset, catalog

__all__ = ["DEVELOPMENT", "REPORTING", "Sets"]

Sets = list[tuple[RankingDataset, RankingDataset, RankingDataset]]  # one, or one for each fold
Maker = Callable[[np.random.Generator, Any, Any], Any]
TEST = 1_000  # test queries of a maker
GRADES = (0.6, 0.8, 0.92, 0.98)  # quantiles of the utility at which the label rises


def three(data: RankingDataset, seed: int) -> Sets:
    train, valid, test = data.split(0.6, 0.15, 0.25, seed=seed)
    return [(train, valid, test)]


def larger_test(data: RankingDataset, seed: int, queries: int = TEST) -> Sets:
    """So many of the queries to test on; of the others, four fifths to train on."""
    rest = 1 - queries / data.n_queries
    train, valid, test = data.split(0.8 * rest, 0.2 * rest, seed=seed)
    return [(train, valid, test)]


def made(maker: Maker, draw: int, queries: int = 600, features: int = 20) -> Callable[[int], Sets]:
    """So many queries to train and validate on, and `TEST` others."""
    return lambda seed: larger_test(drawn(maker, draw, queries + TEST, features, seed), seed)


def drawn(maker: Maker, draw: int, queries: int, features: int, seed: int) -> RankingDataset:
    """Queries of 5 to 40 documents whose label is a utility with noise, on the hidden scale of the query."""
    rng = np.random.default_rng([seed, draw, 9])
    sizes = rng.integers(5, 41, queries)
    query = np.repeat(np.arange(queries), sizes)
    X = rng.normal(size=(sizes.sum(), features)).astype(np.float32)
    level = rng.normal(size=(queries, features // 2)).astype(np.float32)
    X[:, : features // 2] += level[query]
    utility = maker(rng, X, query)
    utility = utility / utility.std() + 0.5 * rng.normal(size=len(X))
    utility *= np.exp(rng.normal(size=queries))[query]
    y = np.digitize(utility, np.quantile(utility, GRADES))
    return RankingDataset.from_groups(X, y, sizes)


def network(rng: np.random.Generator, X: Any, query: Any) -> Any:
    hidden = np.tanh(X @ rng.normal(size=(X.shape[1], 16)) / 3)
    return hidden @ rng.normal(size=16)


def additive(rng: np.random.Generator, X: Any, query: Any) -> Any:
    return sum(np.sin(rng.uniform(0.5, 2) * X[:, i] + rng.normal()) for i in range(12))


def linear(rng: np.random.Generator, X: Any, query: Any) -> Any:
    return X[:, rng.permutation(X.shape[1])[:6]] @ rng.normal(size=6)


def products(rng: np.random.Generator, X: Any, query: Any) -> Any:
    pairs = rng.permutation(X.shape[1]).reshape(-1, 2)[:6]
    return sum(X[:, a] * X[:, b] for a, b in pairs)


def steps(rng: np.random.Generator, X: Any, query: Any) -> Any:
    """A sum of small random trees."""
    total = np.zeros(len(X))
    for _ in range(40):
        chosen = rng.permutation(X.shape[1])[:3]
        leaf = (X[:, chosen] > rng.normal(size=3)) @ np.array([1, 2, 4])
        total += rng.normal(size=8)[leaf]
    return total


def within(rng: np.random.Generator, X: Any, query: Any) -> Any:
    """Only the place of a value within its list counts, with thresholds."""
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    sizes = np.diff(np.r_[starts, len(query)])
    total = np.zeros(len(X))
    for i in rng.permutation(X.shape[1])[:8]:
        centred = X[:, i] - np.repeat(np.add.reduceat(X[:, i], starts) / sizes, sizes)
        total += rng.normal() * np.tanh(2 * centred)
    return total


def kinds(rng: np.random.Generator, X: Any, query: Any) -> Any:
    """Three kinds of queries, told by a feature of the query, with weights of their own."""
    kind = rng.integers(0, 3, query.max() + 1)[query]
    X[:, 0] = kind + 0.1 * rng.normal(size=len(X))
    return np.einsum("if,if->i", X, rng.normal(size=(3, X.shape[1]))[kind])


def counts(rng: np.random.Generator, X: Any, query: Any) -> Any:
    """Skewed counts, a third of them missing where the count is low."""
    X[:] = np.floor(np.exp(1.2 * X))
    utility = np.log1p(X) @ np.where(rng.random(X.shape[1]) < 0.5, rng.exponential(size=X.shape[1]), 0)
    utility = utility + np.log1p(X[:, 0] * X[:, 1]) - np.log1p(X[:, 2])
    gone = (rng.random(X.shape) < 0.4) & (np.median(X, axis=0) >= X)
    X[gone] = np.nan
    return utility


def example(seed: int) -> Sets:
    """LightGBM's example with its own test file."""
    every, test = (catalog.load("lightgbm-example", part=part) for part in ("train", "test"))
    train, valid = every.split(0.8, seed=seed)
    return [(train, valid, test)]


def example_inside(seed: int) -> Sets:
    """The training file of LightGBM's example, divided in three."""
    return three(catalog.load("lightgbm-example", part="train"), seed)


def webis(seed: int) -> Sets:
    """Five disjoint test folds; the models of each are trained and validated on the other four."""
    found: Sets = []
    for fold in range(1, 6):
        every, test = (catalog.load("webis-clueweb09", part=part, fold=fold) for part in ("train", "test"))
        train, valid = every.split(0.8, seed=seed)
        found.append((train, valid, test))
    return found


def films(first: int = 0, start: int | None = None) -> Callable[[int], Sets]:
    """Judged films of 1,000 queries to train and validate on and of 600 others, described by an index."""

    def make(seed: int) -> Sets:
        from quality import FULL, movies

        ((every, test),) = movies(replace(FULL, movies=(1_000, 600)), first, start)
        train, valid = every.split(0.8, seed=seed)
        return [(train, valid, test)]

    return make


def own(draw: int) -> Callable[[int], Sets]:
    def make(seed: int) -> Sets:
        size = {"n_queries": 600 + TEST, "docs_per_query": 25, "n_features": 25}
        return larger_test(rl.synthetic(**size, seed=seed + 10 * draw), seed)

    return make


DEVELOPMENT: dict[str, Callable[[int], Sets]] = {
    "example, its training": example_inside,
    "network, draw 2": made(network, 2),
    "additive, draw 2": made(additive, 2),
    "linear, draw 2": made(linear, 2),
    "synthetic, draw 2": own(2),
    "steps": made(steps, 2),
    "within": made(within, 2),
    "kinds": made(kinds, 2),
    "counts": made(counts, 2, queries=400, features=40),
}
REPORTING: dict[str, Callable[[int], Sets]] = {
    "network": made(network, 11),
    "additive": made(additive, 11),
    "linear": made(linear, 11),
    "products": made(products, 11),
    "synthetic": own(11),
    "counts": made(counts, 11, queries=1_100, features=30),
    "LightGBM's example": example,
    "webis": webis,
}
if "RANKLOOP_DATA" in os.environ and (Path(os.environ["RANKLOOP_DATA"]) / "msrd_movies").exists():
    DEVELOPMENT["movies, other queries"] = films(2_000, 3_000)
    REPORTING["movies"] = films()
