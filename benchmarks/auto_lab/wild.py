"""Sets of other shapes than those of sets.py: what AutoRanker meets outside a laboratory.

Heavy tails, hundreds of useless features, codes of categories, gaps, long and short lists, rare relevant
documents, noisy clicks, features on a scale of the query, duplicates, very few and very many queries. A draw
makes all that is random in a maker; draws below 10 decided how AutoRanker works, the others are reported.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from auto_lab.sets import Sets, larger_test
from rankloop.data import RankingDataset

__all__ = ["WILD", "wild"]

Drawn = tuple[Any, Any, int]  # features, utility, queries to train and validate on
TEST = 1_000


def wild(name: str, draw: int) -> Callable[[int], Sets]:
    """Queries to train and validate on, and others to test on."""

    def make(seed: int) -> Sets:
        rng = np.random.default_rng([seed, draw, sorted(WILD).index(name)])
        queries, shortest, longest, test = SHAPES[name]
        sizes = rng.integers(shortest, longest + 1, queries + test)
        query = np.repeat(np.arange(len(sizes)), sizes)
        X, y = WILD[name](rng, query)
        return larger_test(RankingDataset.from_groups(X.astype(np.float32), y, sizes), seed, test)

    return make


def graded(rng: Any, utility: Any, noise: float, quantiles: Any = (0.6, 0.8, 0.92, 0.98)) -> Any:
    utility = utility / utility.std() + noise * rng.normal(size=len(utility))
    return np.digitize(utility, np.quantile(utility, quantiles))


def normal(rng: Any, query: Any, features: int) -> Any:
    """Half of the features share a level within the query."""
    X = rng.normal(size=(len(query), features))
    X[:, ::2] += rng.normal(size=(query.max() + 1, (features + 1) // 2))[query]
    return X


def bends(rng: Any, X: Any, features: int) -> Any:
    """A curve of each of the first features, and the products of neighbours."""
    total = np.zeros(len(X))
    for i in range(features):
        total += rng.normal() * np.tanh(rng.uniform(0.5, 2) * X[:, i] + rng.normal())
        total += 0.7 * rng.normal() * np.tanh(X[:, i] * X[:, (i + 1) % features])
    return total


def heavy(rng: Any, query: Any) -> Any:
    """Features of which a few values are thousands of times the others."""
    X = normal(rng, query, 24)
    utility = bends(rng, X, 10)
    return np.sign(X) * np.expm1(np.abs(X) * rng.uniform(1, 4, X.shape[1])), graded(rng, utility, 0.7)


def useless(rng: Any, query: Any) -> Any:
    """Three hundred and twenty features, of which eight count."""
    X = normal(rng, query, 320)
    return X, graded(rng, bends(rng, X, 8), 0.7)


def codes(rng: Any, query: Any) -> Any:
    """Numbers of categories, of 4 to 300 kinds, each kind with an effect; and five measures."""
    columns, total = [], np.zeros(len(query))
    for kinds in (4, 8, 12, 30, 30, 80, 150, 300):
        code = rng.integers(0, kinds, len(query))
        columns.append(code)
        total += rng.normal(size=kinds)[code] * rng.uniform(0.2, 1.0)
    measures = normal(rng, query, 5)
    total += 1.5 * bends(rng, measures, 3)
    return np.column_stack([*columns, measures]), graded(rng, total, 0.7)


def gaps(rng: Any, query: Any) -> Any:
    """Half of the values missing, those of some features where they are low."""
    X = normal(rng, query, 30)
    utility = bends(rng, X, 12)
    low = np.arange(30) % 3 == 0
    gone = rng.random(X.shape) < np.where(low, 0.8 * (X < 0.3), rng.uniform(0.1, 0.8, 30))
    return np.where(gone, np.nan, X), graded(rng, utility, 0.4)


def long_lists(rng: Any, query: Any) -> Any:
    """Few queries with hundreds of documents, most of them not relevant."""
    X = normal(rng, query, 30)
    return X, graded(rng, bends(rng, X, 10), 0.8, (0.9, 0.96, 0.985, 0.996))


def short_lists(rng: Any, query: Any) -> Any:
    """Many queries with three to six documents."""
    X = normal(rng, query, 20)
    return X, graded(rng, bends(rng, X, 8), 1.0)


def rare(rng: Any, query: Any) -> Any:
    """Relevant or not; one document of fifty is."""
    X = normal(rng, query, 25)
    X[:, 15:] = np.round(np.exp(X[:, 15:]))
    return X, graded(rng, bends(rng, X, 10) + 0.3 * np.log1p(X[:, 15]), 0.8, (0.98,))


def clicked(rng: Any, query: Any) -> Any:
    """Grades from counts of clicks, which depend on luck and on the place where a document was shown."""
    X = normal(rng, query, 20)
    utility = bends(rng, X, 10)
    utility /= utility.std()
    place = rng.permuted(np.arange(len(query)) % 10 + 1)
    clicks = rng.poisson(8 * np.exp(1.2 * utility - 1.5) / place)
    return X, np.digitize(clicks, (1, 3, 8, 20))


def scaled(rng: Any, query: Any) -> Any:
    """Every query has units of its own: its features are stretched and moved."""
    X = normal(rng, query, 20)
    utility = bends(rng, X, 8)
    stretch = np.exp(rng.normal(size=(query.max() + 1, 20)))[query]
    return X * stretch + 3 * rng.normal(size=(query.max() + 1, 20))[query], graded(rng, utility, 0.6)


def doubles(rng: Any, query: Any) -> Any:
    """Coarse values, every column three times with some noise, a third of the documents twice."""
    X = np.round(2 * normal(rng, query, 12)) / 2
    utility = bends(rng, X, 8)
    X = np.hstack([X, X + 0.3 * rng.normal(size=X.shape), np.round(X)])
    y = graded(rng, utility, 0.6)
    again = np.flatnonzero((rng.random(len(X)) < 0.33) & (np.diff(query, prepend=-1) == 0))
    for row in again:
        X[row], y[row] = X[row - 1], max(y[row - 1] - (rng.random() < 0.2), 0)
    return X, y


def few(rng: Any, query: Any) -> Any:
    """Thirty queries."""
    X = normal(rng, query, 15)
    return X, graded(rng, bends(rng, X, 6), 0.6)


def many(rng: Any, query: Any) -> Any:
    """Twenty thousand queries."""
    X = normal(rng, query, 15)
    X[:, 10:] = np.round(np.exp(X[:, 10:]))
    return X, graded(rng, bends(rng, X, 15), 1.0)


WILD: dict[str, Callable[[Any, Any], Any]] = {
    "heavy tails": heavy,
    "320 features": useless,
    "codes": codes,
    "gaps": gaps,
    "long lists": long_lists,
    "short lists": short_lists,
    "rare": rare,
    "clicks": clicked,
    "scaled": scaled,
    "doubles": doubles,
    "30 queries": few,
    "20,000 queries": many,
}
SHAPES: dict[str, tuple[int, int, int, int]] = {  # queries, documents at least and at most, test queries
    "heavy tails": (500, 5, 40, TEST),
    "320 features": (400, 10, 40, TEST),
    "codes": (800, 5, 40, TEST),
    "gaps": (600, 5, 40, TEST),
    "long lists": (40, 200, 600, 300),
    "short lists": (4_000, 3, 6, 3 * TEST),
    "rare": (600, 30, 60, TEST),
    "clicks": (1_000, 5, 20, TEST),
    "scaled": (600, 5, 40, TEST),
    "doubles": (500, 5, 40, TEST),
    "30 queries": (30, 10, 40, TEST),
    "20,000 queries": (20_000, 10, 30, 2 * TEST),
}
