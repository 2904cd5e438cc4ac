"""How a ranker would have done, from the clicks on another one."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop.clicks import ClickModel
from rankloop.data import RankingDataset
from rankloop.propensity import Propensity
from rankloop.unbiased.estimation.bias import Bias, ClickBias, bias_of, by_rank
from rankloop.unbiased.estimation.evidence import Evidence, Floats, Log, evidence
from rankloop.unbiased.estimation.interval import FEW, clustered_error, interval
from rankloop.unbiased.estimation.worth import worth_of
from rankloop.unbiased.ips import ips_relevance
from rankloop.unbiased.relevance import estimator

__all__ = ["Estimate", "Question", "estimate"]

CURVES = 50  # draws of an uncertain propensity curve
REPEATS = 200  # draws of the clicks, where queries are too few


class Scorer(Protocol):
    def predict(self, X: Any) -> Any: ...


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """A value with its 95 % interval, how many clicks it is worth, and what to be wary of."""

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
            f"worth {self.effective_sample_size:,.0f} clicks"
        )
        return "\n".join([line, *(f"warning: {one}" for one in self.warnings)])


def estimate(
    log: Log,
    ranker: Scorer | ArrayLike,
    metric: str,
    *,
    data: RankingDataset,
    propensity: ClickBias | None = None,
    method: str = "doubly_robust",
    seed: int = 0,
    **options: Any,
) -> Estimate:
    r"""The value a ranker (or one score per row of `data`) would have had on the pages of a log.

    .. math:: \hat V = \frac1N \sum_q N_q \sum_d \lambda(\mathrm{rank}(d)) \, \hat\gamma_d

    `metric` is "dcg" or "dcg@k" (gain: the chance of being relevant), "precision@k", "arp" (the sum of the
    ranks of what is relevant: lower is better; under "snips" their mean) or "ctr" (clicks per page). `method`
    is any correction, `options` are its own. The interval draws whole queries, and the propensity curve where
    it is uncertain; with fewer than 20 queries, only clicks.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=20_000, seed=0)
    >>> seen = 1 / np.arange(1, 11)
    >>> better = estimate(log, data.y, "dcg@5", data=data, propensity=seen, method="ips")
    >>> better.low > estimate(log, -data.y, "dcg@5", data=data, propensity=seen, method="ips").high
    True
    """
    question = Question(log, metric, data, propensity, method, seed, options)
    return question.answer(ranker)


class Question:
    """One log, one metric, one method; asked of as many rankers as there are."""

    def __init__(
        self,
        log: Log,
        metric: str,
        data: RankingDataset,
        propensity: ClickBias | None,
        method: str,
        seed: int,
        options: dict[str, Any],
    ) -> None:
        if propensity is None and method != "naive":
            raise ValueError(f"{method} needs propensity=, a curve from rankloop.propensity or its values")
        self.metric, self.method, self.seed = worth_of(metric), method, seed
        self.seen = evidence(log, propensity, data)
        if by_rank(propensity):
            self.bias = bias_of(propensity, int(self.seen.position.max()))
        elif isinstance(propensity, ClickModel) and self.metric.name == "ctr":
            raise ValueError(
                f"ctr of another order is not known for {type(propensity).__name__}; ask for dcg"
            )
        else:
            curve = self.seen.curve()
            self.bias = Bias(curve, np.zeros(len(curve)))
        self.ask = estimator(method, data, seed=seed, **options)
        self.relevance = self._relevance(self.seen)
        self.others = [self._relevance(seen) for seen in self._curves(propensity)]

    def answer(self, ranker: Scorer | ArrayLike) -> Estimate:
        worth = self.worth(ranker)
        above, below = self.sums(worth)
        value = float(above.sum() / below.sum())
        error, clusters = self.error(worth, above, below)
        low, high = interval(value, error, clusters)
        warnings = tuple(self._warnings(worth, clusters))
        return Estimate(str(self.metric), self.method, value, low, high, self._effective(), warnings)

    def worth(self, ranker: Scorer | ArrayLike) -> Floats:
        data = self.seen.data
        given = ranker.predict(data) if hasattr(ranker, "predict") else ranker
        scores = np.asarray(given, np.float64)
        if scores.shape != (data.n_documents,) or np.isnan(scores).any():
            raise ValueError(
                f"a ranker gives one score per row of the data set ({data.n_documents}), got {scores.shape}"
            )
        return self.metric.of(scores, data.offsets, self.bias.alpha)

    def sums(self, worth: Floats, relevance: Floats | None = None) -> tuple[Floats, Floats]:
        """Of each query with pages: what its ranking was worth, and what that is divided by."""
        seen = self.seen
        asked = seen.sessions > 0
        found = self.relevance if relevance is None else relevance
        above = _by_query(found * worth, seen)[asked]
        below = seen.sessions[asked]
        if self.method == "snips":
            below = _by_query(found, seen)[asked]
        if self.metric.name == "ctr":  # clicks that trust brings whatever is shown
            depth = np.minimum(seen.data.lengths[asked], len(self.bias.beta))
            floor = np.concatenate(([0.0], np.cumsum(self.bias.beta)))
            above = above + seen.sessions[asked] * floor[np.minimum(depth, self.metric.k or depth.max())]
        return above, below

    def error(self, worth: Floats, above: Floats, below: Floats) -> tuple[float, int]:
        """The standard error, and the number of things it was drawn over."""
        if len(above) >= FEW:
            between, clusters = clustered_error(above, below), len(above)
        else:
            between, clusters = float(np.std([self._again(worth, i) for i in range(REPEATS)])), REPEATS
        ratios = [float(a.sum() / b.sum()) for a, b in (self.sums(worth, one) for one in self.others)]
        return float(np.hypot(between, np.std(ratios) if ratios else 0.0)), clusters

    def _again(self, worth: Floats, i: int) -> float:
        rng = np.random.default_rng([self.seed, i])
        shown = self.seen.impressions.astype(np.int64)
        drawn = rng.binomial(shown, self.seen.clicks / self.seen.impressions)
        clicks = np.where(shown > 1, drawn, rng.poisson(self.seen.clicks)).astype(np.float64)
        above, below = self.sums(worth, self._relevance(replace(self.seen, clicks=clicks)))
        return float(above.sum() / max(below.sum(), 1e-300))

    def _relevance(self, seen: Evidence) -> Floats:
        return ips_relevance(seen) if self.method == "snips" else self.ask(seen)

    def _curves(self, propensity: ClickBias | None) -> Iterator[Evidence]:
        """The evidence under other curves that could be the true one."""
        if not isinstance(propensity, Propensity) or self.method in ("naive", "direct_method"):
            return
        if propensity.resamples is not None or propensity.log_covariance is not None:
            for curve in propensity.sample(CURVES, seed=self.seed):
                yield replace(self.seen, alpha=curve[self.seen.position - 1])

    def _effective(self) -> float:
        """Kish: so many clicks of equal weight would be as good."""
        seen = self.seen
        slope = seen.slope()[seen.row] if self.method in _AVERAGED else seen.alpha
        weight = np.ones(len(slope)) if self.method in ("naive", "direct_method") else 1.0 / slope
        squares = float(np.sum(seen.clicks * weight**2))
        return float(np.sum(seen.clicks * weight)) ** 2 / squares if squares > 0 else 0.0

    def _warnings(self, worth: Floats, clusters: int) -> Iterator[str]:
        seen, effective = self.seen, self._effective()
        clicks = seen.clicks.sum()
        if effective < 100:
            yield f"the estimate rests on {effective:.0f} clicks' worth; log for longer"
        elif effective < 0.1 * clicks:
            yield f"{clicks:,.0f} clicks are worth {effective:,.0f}, as a few weigh most; clip, or swap ranks"
        if clusters != np.count_nonzero(seen.sessions):
            yield f"fewer than {FEW} queries: the interval covers these queries, not others"
        pages = seen.sessions[seen.data.row_query]
        mass = np.where(self.metric.name == "arp", 1.0, worth) * pages
        hidden = float(mass[~seen.shown].sum() / max(mass.sum(), 1e-300))
        if hidden > 0.01 and self.method not in ("direct_method", "doubly_robust"):
            yield f"{hidden:.0%} of the ranking's weight is on documents that were never shown; they count 0"
        elif hidden > 0.01:
            yield f"{hidden:.0%} of the ranking's weight is on documents that only the model knows"
        if np.all(seen.clicks == seen.impressions):
            yield "the log has clicks only; log what was shown and not clicked too"


_AVERAGED = ("policy_aware", "intervention_aware", "doubly_robust")


def _by_query(values: Floats, seen: Evidence) -> Floats:
    totals = np.bincount(seen.data.row_query, values, seen.data.n_queries)
    return np.asarray(totals * seen.sessions, np.float64)
