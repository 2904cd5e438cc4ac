"""NDCG of each version while judgments come in, with intervals that know what is not judged yet."""

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from rankloop._arrays import Floats
from rankloop._ratio import ratio, reach
from rankloop.serve.desk.pools import GAINS, Pools

__all__ = ["LiveScores", "Score", "live_scores"]

DRAWS = 96  # of the grades that are not known
_AT_ONCE = 200  # queries


@dataclass(frozen=True)
class Score:
    """A mean over queries and its interval; nan where there is nothing to tell."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        return not np.isnan(self.value)

    @property
    def endless(self) -> bool:
        """Whether the interval is all that a metric, or a difference of two, can be: queries are too few."""
        return self.high - self.low >= (2.0 if self.low < 0 else 1.0)


@dataclass(frozen=True, eq=False)
class LiveScores:
    """NDCG of each query by two versions, drawn many times with the grades that are not known.

    `drawn` is draws x queries x (old, new); a query without a relevant document in a draw has nan there.
    `judged` is the share of the shown documents of each query that a person graded.
    """

    drawn: Floats
    weights: Floats
    judged: Floats

    def of(self, version: int) -> Score:
        """The mean of the old (0) or the new version (1) over the queries."""
        return _score(self.drawn[:, :, version], self.weights, 0.0, 1.0)

    def difference(self) -> Score:
        """How far the new version is above the old one, over the queries."""
        return _score(self.differences, self.weights, -1.0, 1.0)

    @property
    def differences(self) -> Floats:
        """The same for each draw and query."""
        return self.drawn[:, :, 1] - self.drawn[:, :, 0]

    def expected(self) -> Floats:
        """The expected NDCG of each query by both versions; nan where nothing is relevant."""
        known = ~np.isnan(self.drawn)
        total = np.where(known, self.drawn, 0.0).sum(axis=0)
        found: Floats = np.divide(
            total, known.sum(axis=0), out=np.full(total.shape, np.nan), where=known.any(axis=0)
        )
        return found


def live_scores(pools: Pools, new: int = 1, old: int = 0) -> LiveScores:
    """NDCG of two versions with every unknown grade drawn from the grades of documents like it.

    The draws of a query depend on its text alone, so that a score moves only when a grade does.
    """
    queries = len(pools.queries)
    drawn = np.full((DRAWS, queries, 2), np.nan)
    rng = np.random.default_rng(0)
    chances = np.stack([rng.dirichlet(one, DRAWS) for one in pools.counts(new, old)], axis=1)
    below = np.cumsum(chances, axis=-1)[..., :-1]  # draws x classes x grades
    for start in range(0, queries, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        drawn[:, part] = _drawn(pools, part, below, (old, new))
    shown = (pools.ranks[:, [old, new]] > 0).any(axis=1)
    graded = (shown & ~np.isnan(pools.grades)).sum(axis=1)
    return LiveScores(drawn, pools.weights, graded / np.maximum(shown.sum(axis=1), 1))


def _drawn(pools: Pools, part: slice, below: Floats, pair: tuple[int, int]) -> Floats:
    """Draws x queries x (old, new)."""
    width = pools.grades.shape[1]
    uniform = np.stack([_uniform(query, width) for query in pools.queries[part]], axis=1)
    place = pools.classes(pair[1], pair[0])[part]
    grade = sum((uniform >= below[:, place, at]).astype(np.int64) for at in range(below.shape[-1]))
    known = pools.grades[part]
    gains = np.where(np.isnan(known), GAINS[grade], 2.0 ** np.nan_to_num(known) - 1)
    gains = np.where(pools.real[part], gains, 0.0)
    ideal = pools.ideal(gains)[..., None]
    value = np.einsum("dqp,qvp->dqv", gains, pools.discounts()[part][:, list(pair)])
    return np.asarray(np.divide(value, ideal, out=np.full(value.shape, np.nan), where=ideal > 0))


def _uniform(query: str, width: int) -> Floats:
    """Random numbers of a query: those of its first documents stay when more documents are added."""
    rng = np.random.default_rng([0, crc32(query.encode())])
    return rng.random((width, DRAWS)).T


def _score(drawn: Floats, weights: Floats, least: float, most: float) -> Score:
    """The mean with its interval: queries differ, and what is not judged may be anything that it may be."""
    known = ~np.isnan(drawn)
    each = known.mean(axis=0) * weights  # a query counts as often as it has something relevant
    if not (each > 0).any():
        return Score(np.nan, np.nan, np.nan)
    filled = np.where(known, drawn, 0.0)
    above = filled.mean(axis=0) * weights
    found = ratio(above[each > 0], each[each > 0], kind="student")
    total = (known * weights).sum(axis=1)
    means = (filled * weights).sum(axis=1)[total > 0] / total[total > 0]
    unknown = float(means.var(ddof=1)) if len(means) > 1 else 0.0
    if not np.isfinite(found.error):
        return Score(found.value, least, most)
    low, high = reach(found.value, float(np.hypot(found.error, unknown**0.5)), found.units)
    return Score(found.value, max(low, least), min(high, most))
