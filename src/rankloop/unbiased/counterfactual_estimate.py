"""The value that a ranker would have had, from the clicks on another one."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._ratio import mixture_quantile, ratio, reach
from rankloop.clicks import ClickLog, ClickModel
from rankloop.data import RankingDataset
from rankloop.propensity import Propensity
from rankloop.propensity.fitting.people import FEW as FEW_PEOPLE
from rankloop.propensity.fitting.people import effective_people, has_people
from rankloop.unbiased.estimation.agreement import against_curve, against_model
from rankloop.unbiased.estimation.bias import Bias, ClickBias, bias_of, by_rank
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.rank_metric import rank_metric
from rankloop.unbiased.relevance import estimator
from rankloop.unbiased.snips import totals

__all__ = ["FEW", "CounterfactualEstimate", "Evaluator", "Scorer", "counterfactual_estimate"]

FEW = 20  # with fewer queries the spread between queries is not estimated well
LEAST = 3.0  # over the root of the pages: propensities below it are raised to it by doubly_robust

FROM_CURVE = 0.2  # of the variance: above, a warning says that the curve's errors and the clicks' cancel
CURVES = 50  # samples of an uncertain propensity curve
RESAMPLES = 200  # of the clicks, where there are too few queries to resample


class Scorer(Protocol):
    def predict(self, X: Any) -> Any: ...


@dataclass(frozen=True, slots=True, repr=False)
class CounterfactualEstimate:
    """A value with its 95 % interval, its effective sample size in clicks, and warnings."""

    metric: str
    method: str
    value: float
    low: float
    high: float
    effective_sample_size: float
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        line = (
            f"{self.metric} {self.value:.4f} ({self.low:.4f} to {self.high:.4f}) by {self.method}, "
            f"effective sample size {self.effective_sample_size:,.0f} clicks"
        )
        return "\n".join([line, *(f"warning: {one}" for one in self.warnings)])


def counterfactual_estimate(
    log: Log,
    data: RankingDataset,
    ranker: Scorer | ArrayLike,
    metric: str,
    *,
    propensity: ClickBias | None = None,
    method: str = "doubly_robust",
    seed: int = 0,
    **options: Any,
) -> CounterfactualEstimate:
    r"""Estimate the metric that a ranker (or scores, one per row of `data`) would have had on a log.

    .. math:: \hat V = \frac1N \sum_q N_q \sum_d \lambda(\mathrm{rank}(d)) \, \hat\gamma_d

    `metric` is "dcg" or "dcg@k" (gain: the probability of being relevant), "precision@k", "arp" (the sum of
    the ranks of relevant documents: lower is better) or "ctr" (clicks per page).
    `method` is the name of a correction, `options` are its options; `doubly_robust` raises fewer propensities
    here than in learning (`tau` is 3 over the root of the number of pages). The interval covers the choice of
    queries, and the uncertainty of the propensity curve if it has any; with fewer than 20 queries, that of
    the clicks alone.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=20_000, seed=0)
    >>> curve = 1 / np.arange(1, 11)
    >>> better = counterfactual_estimate(log, data, data.y, "dcg@5", propensity=curve, method="ips")
    >>> worse = counterfactual_estimate(log, data, -data.y, "dcg@5", propensity=curve, method="ips")
    >>> better.low > worse.high
    True
    """
    evaluator = Evaluator(log, data, metric, propensity=propensity, method=method, seed=seed, **options)
    return evaluator.estimate(ranker)


class Evaluator:
    """One log, one metric, one method: the clicks are corrected once, for as many rankers as there are."""

    def __init__(
        self,
        log: Log,
        data: RankingDataset,
        metric: str,
        *,
        propensity: ClickBias | None,
        method: str = "doubly_robust",
        seed: int = 0,
        **options: Any,
    ) -> None:
        if propensity is None and method != "naive":
            raise ValueError(f"{method} needs propensity=, a curve from rankloop.propensity or its values")
        self.metric, self.method, self.seed = rank_metric(metric), method, seed
        self.seen = evidence(log, propensity, data)
        if by_rank(propensity):
            self.bias = bias_of(propensity, int(self.seen.position.max()))
        elif isinstance(propensity, ClickModel) and self.metric.name == "ctr":
            raise ValueError(
                f"the ctr of another order cannot be estimated for {type(propensity).__name__}; use dcg"
            )
        else:
            curve = self.seen.curve()
            self.bias = Bias(curve, np.zeros(len(curve)))
        known = isinstance(log, ClickLog) and has_people(log)
        self.people = effective_people(log) if isinstance(log, ClickLog) and known else None
        if method == "doubly_robust":  # whose usual bound is for learning: here its bias would be seen
            options.setdefault("tau", float(min(1.0, LEAST / np.sqrt(self.seen.sessions.sum()))))
        self.correction = estimator(method, data, seed=seed, **options)
        self.relevance = self.correction(self.seen)
        if method == "snips":
            self.factor = totals(self.seen)
        curves = list(self._curves(propensity))
        self.others = [self.correction(seen) for seen in curves]
        self.disagreements = tuple(self._disagreements(propensity, curves))

    def estimate(self, ranker: Scorer | ArrayLike) -> CounterfactualEstimate:
        weights = self.weights(ranker)
        value, low, high = self.bounds(weights)
        return CounterfactualEstimate(
            str(self.metric),
            self.method,
            value,
            low,
            high,
            self.effective_sample_size(),
            tuple(self._warnings(weights)),
        )

    def difference(
        self, ranker: Scorer | ArrayLike, other: Scorer | ArrayLike, *, confidence: float = 0.95
    ) -> tuple[float, float, float]:
        """The value of `ranker` minus that of `other` and its interval, over the same queries."""
        return self.bounds(self.weights(ranker) - self.weights(other), confidence=confidence, gap=True)

    def bounds(
        self, weights: Floats, *, confidence: float = 0.95, gap: bool = False
    ) -> tuple[float, float, float]:
        """The value of documents with these weights in the metric, and its two-sided interval.

        `gap` says that the weights are the difference of two rankings: clicks that trust brings cancel.
        """
        above, below = self.sums(weights, floor=not gap)
        value = float(above.sum() / below.sum())
        if len(above) >= FEW:
            found = ratio(above, below)
            error, units, skew = found.error, found.units, found.skew
        else:
            drawn = [self._resampled(weights, i) for i in range(RESAMPLES)]
            error, units, skew = float(np.std(drawn)), float(RESAMPLES), 0.0
        if not self.others:
            return value, *reach(value, error, units, confidence=confidence, skew=skew)
        values, errors = self._under_others(weights)
        if len(above) < FEW:
            errors = np.full(len(values), error)
        tail = (1 - confidence) / 2
        low, high = (mixture_quantile(values, errors, units, one) for one in (tail, 1 - tail))
        return value, low, high

    def _under_others(self, weights: Floats) -> tuple[Floats, Floats]:
        """The value and its error between queries under each other curve that could be the true one."""
        found = [ratio(*self.sums(weights, one, floor=False)) for one in self.others]
        return np.array([one.value for one in found]), np.array([one.error for one in found])

    def weights(self, ranker: Scorer | ArrayLike) -> Floats:
        """The weight of each document in the metric, at the rank that `ranker` gives it."""
        return self.metric.weights(self.scores(ranker), self.seen.data.offsets, self.bias.alpha)

    def scores(self, ranker: Scorer | ArrayLike) -> Floats:
        data = self.seen.data
        given = ranker.predict(data) if hasattr(ranker, "predict") else ranker
        scores = np.asarray(given, np.float64)
        if scores.shape != (data.n_documents,) or np.isnan(scores).any():
            raise ValueError(
                f"a ranker gives one score per row of the data set ({data.n_documents}), got {scores.shape}"
            )
        return scores

    def sums(
        self, weights: Floats, relevance: Floats | None = None, *, floor: bool = True
    ) -> tuple[Floats, Floats]:
        """For each query with pages the value of its ranking times its pages, and its pages."""
        seen = self.seen
        used = seen.sessions > 0
        found = self.relevance if relevance is None else relevance
        above = _by_query(found * weights, seen)[used]
        below = seen.sessions[used]
        if self.method == "snips" and relevance is None:  # the spread of the factor, linearised
            total, whole = (one[used] for one in self.factor)
            above = above + above.sum() * (whole / whole.sum() - total / total.sum())
        if self.metric.name == "ctr" and floor:  # clicks that trust brings, whatever is shown
            depth = np.minimum(seen.data.lengths[used], len(self.bias.beta))
            trust = np.concatenate(([0.0], np.cumsum(self.bias.beta)))
            above = above + seen.sessions[used] * trust[np.minimum(depth, self.metric.k or depth.max())]
        return above, below

    def _resampled(self, weights: Floats, i: int) -> float:
        rng = np.random.default_rng([self.seed, i])
        shown = self.seen.impressions.astype(np.int64)
        drawn = rng.binomial(shown, self.seen.clicks / self.seen.impressions)
        clicks = np.where(shown > 1, drawn, rng.poisson(self.seen.clicks)).astype(np.float64)
        if not clicks.any():
            return 0.0
        above, below = self.sums(weights, self.correction(replace(self.seen, clicks=clicks)), floor=False)
        return float(above.sum() / max(below.sum(), 1e-300))

    def _curves(self, propensity: ClickBias | None) -> Iterator[Evidence]:
        """The evidence under other curves that could be the true one."""
        if not isinstance(propensity, Propensity) or self.method in ("naive", "direct_method"):
            return
        if propensity.resamples is not None or propensity.log_covariance is not None:
            for curve in propensity.sample(CURVES, seed=self.seed):
                yield replace(self.seen, alpha=curve[self.seen.position - 1])

    def _disagreements(self, propensity: ClickBias | None, curves: list[Evidence]) -> Iterator[str]:
        """What the clicks say against the curve or the model; not asked of few people, who have their own."""
        if self.people is not None and self.people < FEW_PEOPLE:
            return
        if self.method != "naive" and by_rank(propensity):
            yield from against_curve(self.seen, curves)
        if self.method == "direct_method":
            yield from against_model(self.seen, self.relevance)

    def effective_sample_size(self) -> float:
        """The number of clicks with equal weights that would be as informative (Kish, 1965)."""
        seen = self.seen
        slope = seen.slope()[seen.row] if self.method in _AVERAGED else seen.alpha
        weight = np.ones(len(slope)) if self.method in ("naive", "direct_method") else 1.0 / slope
        squares = float(np.sum(seen.clicks * weight**2))
        return float(np.sum(seen.clicks * weight)) ** 2 / squares if squares > 0 else 0.0

    def _warnings(self, weights: Floats) -> Iterator[str]:
        seen, effective = self.seen, self.effective_sample_size()
        clicks = seen.clicks.sum()
        if effective < 100:
            yield f"the effective sample size is {effective:.0f} clicks only; log for longer"
        elif effective < 0.1 * clicks:
            yield (
                f"the effective sample size of {clicks:,.0f} clicks is {effective:,.0f}, as few have most of "
                "the weight; use clipped, or swap ranks"
            )
        queries = np.count_nonzero(seen.sessions)
        alike = float(seen.sessions.sum() ** 2 / np.sum(seen.sessions**2))
        if queries < FEW:
            yield f"fewer than {FEW} queries: the interval covers these queries, not others"
        elif alike < FEW:
            yield (
                f"few of the {queries:,} queries have most of the pages: they tell as much about others as "
                f"{alike:.0f} equally frequent ones; the interval may be too narrow"
            )
        if self.people is not None and self.people < FEW_PEOPLE:
            yield (
                f"few people made most of the pages (as {self.people:.0f} with equally many would): the "
                "interval takes pages of one person for those of several and may be too narrow"
            )
        yield from self.disagreements
        pages = seen.sessions[seen.data.row_query]
        mass = np.where(self.metric.name == "arp", 1.0, weights) * pages
        hidden = float(mass[~seen.shown].sum() / max(mass.sum(), 1e-300))
        if hidden > 0.01 and self.method not in ("direct_method", "doubly_robust"):
            yield f"{hidden:.0%} of the ranking's weight is on documents never shown; they count as 0"
        elif hidden > 0.01:
            yield f"{hidden:.0%} of the ranking's weight is on documents never shown (model only)"
        if self.others and queries >= FEW:
            values, errors = self._under_others(weights)
            share = float(values.var() / max(values.var() + np.mean(errors**2), 1e-300))
            if share > FROM_CURVE:
                yield (
                    f"{share:.0%} of the interval's variance is that of the propensity curve; where the same "
                    "clicks gave the curve, both errors cancel in part and the interval covers more than 95 %"
                )
        if np.all(seen.clicks == seen.impressions):
            yield "the log has clicks only; log the documents that were shown and not clicked too"


_AVERAGED = ("policy_aware", "intervention_aware", "doubly_robust")


def _by_query(values: Floats, seen: Evidence) -> Floats:
    totals = np.bincount(seen.data.row_query, values, seen.data.n_queries)
    return np.asarray(totals * seen.sessions, np.float64)
