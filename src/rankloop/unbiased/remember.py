"""What people clicked for each query, learned by heart on top of a ranker."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, evidence
from rankloop.unbiased.estimation.stack import curve_of_stack

__all__ = ["Memory", "remember"]

STRENGTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, np.inf)  # views that the ranker's word is worth
STEPS = 30  # of EM
FLAT = 0.05  # the least weight of a standard deviation of the scores: they may say nothing about clicks
OWN = 10.0  # clicks of a query that give half of its own level


@dataclass(frozen=True, eq=False)
class Memory:
    """What clicks add to the score of each row; made by `remember`.

    `strength` is the number of views that the ranker's word is worth: infinite where clicks on other pages
    are best predicted without any memory. `costs` has minus the mean log-likelihood of an impression on the
    pages of other people, for each strength that was tried.
    """

    shift: Floats
    strength: float
    costs: dict[float, float]


def remember(
    log: ClickLog,
    data: RankingDataset,
    scores: ArrayLike,
    *,
    propensity: ClickBias,
    voices: int = 1,
    origins: Ints | None = None,
    strength: float | None = None,
    seed: int = 0,
) -> Memory:
    r"""Update the scores of a ranker (the prior) by the clicks on the same query (the posterior).

    .. math:: r_d = \frac{m \, p_d + C_d}{m + C_d + S_d}, \qquad p_d = \sigma(a + \delta_q + w \, s_d)

    C is the number of clicks on a document and S the expected number of people who saw it and did not click,
    by the curve of `propensity`: to be passed over at a rank that few look at says little. a and w
    make the clicks most likely, :math:`\delta_q` is how readily people click for this query at all. The
    strength m of the prior is the one that best predicts the clicks of other people (half of them at a time),
    or the given one. A document rises only if at least `voices` people clicked it for the query, and falls
    only if as many asked it; `origins` has a number for each page that stands for a person there.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> from rankloop.metrics import ndcg
    >>> data = synthetic(n_queries=30, docs_per_query=8, n_features=5, seed=0)
    >>> scores = data.X[:, 0].astype(float)
    >>> log = simulate(data, logging_policy=scores, sessions=6000, seed=0)
    >>> found = remember(log, data, scores, propensity=1 / np.arange(1, 11))
    >>> ranked = (scores, scores + found.shift)
    >>> before, after = (np.nanmean(ndcg(one, data.y, data.offsets)) for one in ranked)
    >>> bool(after > before + 0.1)
    True
    """
    given = np.asarray(scores, np.float64)
    if given.shape != (data.n_documents,) or not np.isfinite(given).all():
        raise ValueError(f"scores are one finite number per row of the data set ({data.n_documents})")
    if voices < 1:
        raise ValueError(f"voices is a number of people, 1 or more, got {voices}")
    voice = _people(log) if origins is None else np.asarray(origins)
    seen = evidence(log, propensity, data)
    prior = _Prior.of(given, seen)
    costs: dict[float, float] = {}
    if strength is None:
        costs = _costs(log, data, given, propensity, seed)
        strength = min(costs, key=lambda one: (costs[one], -one))
    chance, posterior = prior.posterior(seen, strength)
    shift = (logit(posterior) - logit(chance)) / prior.weight
    rows, person = log.rows(data), np.repeat(voice, log.lengths)
    clicked = log.click > 0
    enough = _numbers(rows[clicked], person[clicked], data.n_documents) >= voices
    asked = _numbers(data.row_query[rows], person, data.n_queries) >= voices
    kept = np.where(shift > 0, enough, asked[data.row_query]) & seen.shown
    return Memory(np.where(kept, shift, 0.0), float(strength), costs)


@dataclass(frozen=True, eq=False)
class _Prior:
    """How likely a document is relevant by its score, of which one unit has the weight `weight`."""

    logits: Floats
    weight: float

    @classmethod
    def of(cls, scores: Floats, seen: Evidence) -> "_Prior":
        centred = _centred(scores, seen)
        spread = float(np.sqrt(np.mean(centred[seen.shown] ** 2))) or 1.0
        fitted = curve_of_stack((centred / spread)[:, None], seen, curve=False)
        weight = max(float(fitted.weights[0]), FLAT) / spread
        return cls(np.clip(fitted.level + weight * centred, -12.0, 12.0), weight)

    def posterior(self, seen: Evidence, strength: float) -> tuple[Floats, Floats]:
        """The chance of each row before and after its own clicks."""
        queries = seen.data.n_queries
        of = seen.data.row_query
        chance = expit(self.logits)
        expected = (seen.impressions * (seen.alpha * chance[seen.row] + seen.beta)).astype(np.float64)
        clicks = np.bincount(of[seen.row], seen.clicks, queries)
        likely = np.bincount(of[seen.row], expected, queries)
        chance = expit(np.clip(self.logits + np.log((clicks + OWN) / (likely + OWN))[of], -12.0, 12.0))
        if np.isinf(strength):
            return chance, chance
        found = chance
        for _ in range(STEPS):
            now = found[seen.row]
            click = seen.alpha * now / np.maximum(seen.alpha * now + seen.beta, 1e-12)
            miss = seen.alpha * (1 - now) / np.maximum(1 - seen.alpha * now - seen.beta, 1e-12)
            liked = seen.by_row(seen.clicks * click)
            passed = seen.by_row((seen.impressions - seen.clicks) * miss)
            found = (strength * chance + liked) / (strength + liked + passed)
        return chance, np.clip(found, 1e-6, 1 - 1e-6)


def _costs(
    log: ClickLog, data: RankingDataset, scores: Floats, propensity: ClickBias, seed: int
) -> dict[float, float]:
    """Minus the mean log-likelihood of the clicks of one half of the people, by memory of the other half."""
    who = _people(log)
    people = np.unique(who)
    half = np.isin(who, np.random.default_rng(seed).permutation(people)[: len(people) // 2])
    if not half.any() or half.all():
        return {np.inf: 0.0}
    total = dict.fromkeys(STRENGTHS, 0.0)
    for mine in (half, ~half):
        learned, held = (evidence(log.select(some), propensity, data) for some in (mine, ~mine))
        prior = _Prior.of(scores, learned)
        for strength in STRENGTHS:
            _, found = prior.posterior(learned, strength)
            click = np.clip(held.alpha * found[held.row] + held.beta, 1e-9, 1 - 1e-9)
            cost = held.clicks * np.log(click) + (held.impressions - held.clicks) * np.log1p(-click)
            total[strength] -= float(cost.sum()) / len(log)
    return total


def _people(log: ClickLog) -> Ints:
    """A number for each person; pages without one are of a person each."""
    if log.page_user is None:
        return np.arange(log.n_pages)
    return log.page_user.code.astype(np.int64)


def _numbers(of: Ints, person: Ints, groups: int) -> Ints:
    """The number of different people in each group."""
    pairs = np.unique(np.stack((of, person)), axis=1)
    return np.bincount(pairs[0], minlength=groups)


def _centred(scores: Floats, seen: Evidence) -> Floats:
    """Scores less the mean of the shown documents of their query."""
    of, shown = seen.data.row_query, seen.shown
    many = np.maximum(np.bincount(of, shown, seen.data.n_queries), 1.0)
    mean = np.bincount(of, np.where(shown, scores, 0.0), seen.data.n_queries) / many
    return np.asarray(scores - mean[of], np.float64)
