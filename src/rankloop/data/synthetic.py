"""Synthetic data sets of any size, whose true relevance is known."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["synthetic", "synthetic_utility"]

_SHARES = np.array([0.52, 0.32, 0.13, 0.02, 0.01])  # grades 0 to 4 as in MSLR-WEB30K
_TRAITS = 12  # hidden properties of a document, of which features are noisy views
_KINDS = ("plain", "heavy", "count", "share", "flag", "copy", "noise", "query", "sparse", "absent")
_ROWS = 65_536  # drawn at a time, so that working memory does not grow with the set


def synthetic(
    n_queries: int = 100, docs_per_query: int = 20, n_features: int = 20, *, seed: int = 0
) -> RankingDataset:
    """Draw a set like MSLR-WEB30K: grades 0 to 4, most of them 0; lists of about `docs_per_query`.

    A document has hidden traits. Its utility is linear in some of them and nonlinear in others (a product, a
    hump, a gate, a term that depends on the query); noise is added and the sum cut into grades in the
    proportions .52 .32 .13 .02 .01. Features are noisy views of the traits: plain, heavy-tailed, counts,
    shares and flags, copies of each other, pure noise, query-level values, and columns with missing values;
    the name of a feature tells its kind. The relevance function is the same for every seed: a set drawn
    with another seed is a test set. `synthetic_utility` gives the utility before the noise.

    >>> data = synthetic(n_queries=50, docs_per_query=30, n_features=25, seed=1)
    >>> data.n_queries, data.n_features, float(data.y.max())
    (50, 25, 4.0)
    """
    traits = _Traits.draw(n_queries, docs_per_query, n_features, seed)
    noisy = traits.utility + traits.noise
    X = np.empty((len(noisy), n_features), np.float32)
    kinds = [_kind(j, n_features) for j in range(n_features)]
    stream = np.random.default_rng([seed, 1])
    of_query = stream.standard_normal((n_queries, n_features), np.float32)
    query = np.repeat(np.arange(n_queries), traits.lengths)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, min(start + _ROWS, len(X)))
        _fill(X[rows], traits.values[rows], of_query[query[rows]], kinds, stream)
    return RankingDataset.from_groups(
        X, _grades(noisy), traits.lengths, feature_names=[f"{kind}_{j + 1}" for j, kind in enumerate(kinds)]
    )


def synthetic_utility(
    n_queries: int = 100, docs_per_query: int = 20, n_features: int = 20, *, seed: int = 0
) -> Floats:
    """The true utility of each document of the set that `synthetic` draws with the same arguments.

    No ranker is better on average than sorting by it.
    """
    return _Traits.draw(n_queries, docs_per_query, n_features, seed).utility.astype(np.float64)


class _Traits(NamedTuple):
    """The hidden part: traits and utility of each document, and the noise of its label."""

    lengths: Ints
    values: Singles
    utility: Singles
    noise: Singles

    @classmethod
    def draw(cls, n_queries: int, docs_per_query: int, n_features: int, seed: int) -> "_Traits":
        for name, value in (
            ("n_queries", n_queries),
            ("docs_per_query", docs_per_query),
            ("n_features", n_features),
        ):
            if value < 1:
                raise ValueError(f"{name} is at least 1, got {value}")
        stream = np.random.default_rng([seed, 0])
        spread = stream.gamma(5.0, docs_per_query / 5.0, n_queries)
        lengths = np.maximum(1, np.round(spread)).astype(np.int64)
        query = np.repeat(np.arange(n_queries), lengths)
        taste = stream.standard_normal((n_queries, 3), np.float32)
        values = stream.standard_normal((len(query), min(_TRAITS, n_features)), np.float32)
        noise = stream.standard_normal(len(query), np.float32) * np.float32(1.0)
        return cls(lengths, values, _utility(values, taste[query]), noise)


def _utility(values: Singles, taste: Singles) -> Singles:
    """The relevance function of the traits that features show."""
    full = np.zeros((_TRAITS, len(values)), np.float32)
    full[: values.shape[1]] = values.T
    linear = np.array([1.0, 0.7, 0.5, 0.4, 0.3, 0.2], np.float32) @ full[:6]
    product = full[0] * full[6]
    hump = -np.abs(full[7] - 0.5)
    gate = np.where(full[8] > 0.3, full[1], -0.5 * full[9])
    by_query = np.where(taste[:, 0] > 0, full[10], full[11])
    nonlinear = product + hump + gate + by_query
    total: Singles = 0.8 * linear + nonlinear + 0.6 * taste[:, 1]
    return total


def _grades(noisy: Singles) -> Singles:
    cuts = np.quantile(noisy, np.cumsum(_SHARES)[:-1])
    return np.searchsorted(cuts, noisy, side="left").astype(np.float32)


def _kind(j: int, n_features: int) -> str:
    """The first features show one trait each; then the kinds take turns."""
    seen = min(_TRAITS, n_features)
    return "plain" if j < seen else _KINDS[(j - seen + 1) % len(_KINDS)]


def _fill(X: Singles, traits: Singles, of_query: Singles, kinds: list[str], stream: Generator) -> None:
    """Write the features of some rows."""
    stream.standard_normal(dtype=np.float32, out=(view := np.empty((X.shape[1], len(X)), np.float32)))
    for j, kind in enumerate(kinds):
        value = view[j]
        trait = traits[:, j % traits.shape[1]]
        clear = np.float32(0.9 if j < traits.shape[1] else 0.5 + 0.4 * (j * 7 % 11) / 10)
        if kind not in ("noise", "query", "copy"):
            value *= np.sqrt(1 - clear * clear)
            value += clear * trait
        if kind in ("heavy", "noise", "absent"):
            np.exp(1.5 * value, out=value)
        elif kind == "count":
            np.floor(np.exp(1.2 * value), out=value)
        elif kind == "share":
            np.divide(1, 1 + np.exp(-value), out=value)
        elif kind == "flag":
            value[:] = value > 0.8
        elif kind == "copy":
            value *= np.float32(0.01)
            value += 3 * view[j - traits.shape[1]] + 1
        elif kind == "query":
            value[:] = of_query[:, j]
        elif kind == "sparse":
            np.maximum(value - 1, 0, out=value)
        if kind == "absent":
            share = 0.05 + 0.5 * (j * 3 % 7) / 7
            value[stream.random(len(value), np.float32) < share] = np.nan
    X[:] = view.T
