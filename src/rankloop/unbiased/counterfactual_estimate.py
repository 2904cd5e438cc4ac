"""The value that a ranker would have had, from the clicks on another one."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.clicks import ClickModel
from rankloop.data import RankingDataset
from rankloop.propensity import Propensity
from rankloop.unbiased.estimation.bias import Bias, ClickBias, bias_of, by_rank
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.interval import FEW, clustered_error, interval
from rankloop.unbiased.estimation.rank_metric import rank_metric
from rankloop.unbiased.ips import ips_relevance
from rankloop.unbiased.relevance import estimator

__all__ = ["CounterfactualEstimate", "Evaluator", "Scorer", "counterfactual_estimate"]

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
    r"""The value that a ranker (or one score per row of `data`) would have had on the pages of a log.

    .. math:: \hat V = \frac1N \sum_q N_q \sum_d \lambda(\mathrm{rank}(d)) \, \hat\gamma_d

    `metric` is "dcg" or "dcg@k" (gain: the probability of being relevant), "precision@k", "arp" (the sum of
    the ranks of relevant documents: lower is better; under "snips" their mean) or "ctr" (clicks per page).
    `method` is the name of a correction, `options` are its options. The interval covers the choice of
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
        self.correction = estimator(method, data, seed=seed, **options)
        self.relevance = self._relevance(self.seen)
        self.others = [self._relevance(seen) for seen in self._curves(propensity)]

    def estimate(self, ranker: Scorer | ArrayLike) -> CounterfactualEstimate:
        weights = self.weights(ranker)
        above, below = self.sums(weights)
        value = float(above.sum() / below.sum())
        error, clusters = self.error(weights, above, below)
        low, high = interval(value, error, clusters)
        return CounterfactualEstimate(
            str(self.metric),
            self.method,
            value,
            low,
            high,
            self.effective_sample_size(),
            tuple(self._warnings(weights, clusters)),
        )

    def difference(
        self, ranker: Scorer | ArrayLike, other: Scorer | ArrayLike, *, confidence: float = 0.95
    ) -> tuple[float, float, float]:
        """The value of `ranker` minus that of `other` and its interval, over the same queries."""
        gap = self.weights(ranker) - self.weights(other)
        above, below = self.sums(gap)
        if self.metric.name == "ctr":  # clicks that trust brings are the same for both
            above = above - self.sums(0 * gap)[0]
        value = float(above.sum() / below.sum())
        return value, *interval(value, *self.error(gap, above, below), confidence=confidence)

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

    def sums(self, weights: Floats, relevance: Floats | None = None) -> tuple[Floats, Floats]:
        """For each query with pages the value of its ranking times its pages, and the divisor."""
        seen = self.seen
        used = seen.sessions > 0
        found = self.relevance if relevance is None else relevance
        above = _by_query(found * weights, seen)[used]
        below = seen.sessions[used]
        if self.method == "snips":
            below = _by_query(found, seen)[used]
        if self.metric.name == "ctr":  # clicks that trust brings, whatever is shown
            depth = np.minimum(seen.data.lengths[used], len(self.bias.beta))
            floor = np.concatenate(([0.0], np.cumsum(self.bias.beta)))
            above = above + seen.sessions[used] * floor[np.minimum(depth, self.metric.k or depth.max())]
        return above, below

    def error(self, weights: Floats, above: Floats, below: Floats) -> tuple[float, int]:
        """The standard error, and the number of units that were resampled for it."""
        if len(above) >= FEW:
            between, clusters = clustered_error(above, below), len(above)
        else:
            between = float(np.std([self._resampled(weights, i) for i in range(RESAMPLES)]))
            clusters = RESAMPLES
        ratios = [float(a.sum() / b.sum()) for a, b in (self.sums(weights, one) for one in self.others)]
        return float(np.hypot(between, np.std(ratios) if ratios else 0.0)), clusters

    def _resampled(self, weights: Floats, i: int) -> float:
        rng = np.random.default_rng([self.seed, i])
        shown = self.seen.impressions.astype(np.int64)
        drawn = rng.binomial(shown, self.seen.clicks / self.seen.impressions)
        clicks = np.where(shown > 1, drawn, rng.poisson(self.seen.clicks)).astype(np.float64)
        above, below = self.sums(weights, self._relevance(replace(self.seen, clicks=clicks)))
        return float(above.sum() / max(below.sum(), 1e-300))

    def _relevance(self, seen: Evidence) -> Floats:
        return ips_relevance(seen) if self.method == "snips" else self.correction(seen)

    def _curves(self, propensity: ClickBias | None) -> Iterator[Evidence]:
        """The evidence under other curves that could be the true one."""
        if not isinstance(propensity, Propensity) or self.method in ("naive", "direct_method"):
            return
        if propensity.resamples is not None or propensity.log_covariance is not None:
            for curve in propensity.sample(CURVES, seed=self.seed):
                yield replace(self.seen, alpha=curve[self.seen.position - 1])

    def effective_sample_size(self) -> float:
        """The number of clicks with equal weights that would be as informative (Kish, 1965)."""
        seen = self.seen
        slope = seen.slope()[seen.row] if self.method in _AVERAGED else seen.alpha
        weight = np.ones(len(slope)) if self.method in ("naive", "direct_method") else 1.0 / slope
        squares = float(np.sum(seen.clicks * weight**2))
        return float(np.sum(seen.clicks * weight)) ** 2 / squares if squares > 0 else 0.0

    def _warnings(self, weights: Floats, clusters: int) -> Iterator[str]:
        seen, effective = self.seen, self.effective_sample_size()
        clicks = seen.clicks.sum()
        if effective < 100:
            yield f"the effective sample size is {effective:.0f} clicks only; log for longer"
        elif effective < 0.1 * clicks:
            yield (
                f"the effective sample size of {clicks:,.0f} clicks is {effective:,.0f}, as few have most of "
                "the weight; use clipped, or swap ranks"
            )
        if clusters != np.count_nonzero(seen.sessions):
            yield f"fewer than {FEW} queries: the interval covers these queries, not others"
        pages = seen.sessions[seen.data.row_query]
        mass = np.where(self.metric.name == "arp", 1.0, weights) * pages
        hidden = float(mass[~seen.shown].sum() / max(mass.sum(), 1e-300))
        if hidden > 0.01 and self.method not in ("direct_method", "doubly_robust"):
            yield f"{hidden:.0%} of the ranking's weight is on documents never shown; they count as 0"
        elif hidden > 0.01:
            yield f"{hidden:.0%} of the ranking's weight is on documents never shown (model only)"
        if np.all(seen.clicks == seen.impressions):
            yield "the log has clicks only; log the documents that were shown and not clicked too"


_AVERAGED = ("policy_aware", "intervention_aware", "doubly_robust")


def _by_query(values: Floats, seen: Evidence) -> Floats:
    totals = np.bincount(seen.data.row_query, values, seen.data.n_queries)
    return np.asarray(totals * seen.sessions, np.float64)
