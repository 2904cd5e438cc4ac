"""Scores that compare across queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.base.row_weight import row_weight

__all__ = ["Calibrated", "Reliability", "calibrate"]


def calibrate(
    ranker: Ranker,
    data: RankingDataset,
    *,
    method: str = "isotonic",
    target: str = "label",
    relevance_threshold: float = 1.0,
) -> "Calibrated":
    """The fitted `ranker` with scores on the scale of the labels; `data` are queries it was not trained on.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> train, held = synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=0).split(0.5, seed=0)
    >>> ranker = RankSVM().fit(train)
    >>> calibrated = calibrate(ranker, held, target="relevant")
    >>> bool(np.array_equal(calibrated.rank(held), ranker.rank(held))), calibrated.reliability_.error < 0.05
    (True, True)
    """
    return Calibrated(ranker, method=method, target=target, relevance_threshold=relevance_threshold).fit(data)


@dataclass(frozen=True, slots=True)
class Reliability:
    """Documents in tenths by predicted value: mean prediction, mean outcome, and total weight of each.

    `error` is the expected calibration error: the weighted mean of their absolute difference.
    """

    predicted: Floats
    observed: Floats
    count: Floats

    @property
    def error(self) -> float:
        return float(self.count @ np.abs(self.predicted - self.observed) / self.count.sum())

    @classmethod
    def of(cls, predicted: Floats, outcome: Floats, weight: Floats, bins: int = 10) -> "Reliability":
        """`bins` of about the same number of documents."""
        order = np.argsort(predicted, kind="stable")
        parts = [part for part in np.array_split(order, bins) if weight[part].sum() > 0]
        means = [
            (np.average(predicted[p], weights=weight[p]), np.average(outcome[p], weights=weight[p]))
            for p in parts
        ]
        return cls(
            np.array([mean[0] for mean in means]),
            np.array([mean[1] for mean in means]),
            np.array([weight[part].sum() for part in parts]),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrated(Ranker):
    r"""A fitted ranker and an increasing curve over its scores, which then compare across queries.

    `target="label"` gives the expected label, `"relevant"` the probability of a label of at least
    `relevance_threshold`. `method="isotonic"` fits any increasing curve (Zadrozny & Elkan, 2002), linear
    between the centres of its steps and with a tiny slope added, so that the order of documents stays;
    `"platt"` fits top / (1 + e^{-(a s + b)}) (Platt, 1999). `reliability_` compares predictions and outcomes
    on the data of the fit.
    """

    _unsaved: ClassVar[frozenset[str]] = frozenset({"ranker"})
    _needs_preferences: ClassVar[bool] = False

    ranker: Ranker | None = field(default=None, kw_only=False)
    method: str = "isotonic"
    target: str = "label"
    relevance_threshold: float = 1.0

    @property
    def needs_lists(self) -> bool:
        part = self.ranker_ if hasattr(self, "ranker_") else self.ranker
        return part is not None and part.needs_lists

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("method", self.method, ("isotonic", "platt"))
        one_of("target", self.target, ("label", "relevant"))
        if self.ranker is None:
            raise ValueError("Calibrated needs a fitted ranker, got none")
        self.ranker_ = self.ranker
        scores = self.ranker_.predict(train)
        outcome = train.y.astype(np.float64)
        if self.target == "relevant":
            outcome = (train.y >= self.relevance_threshold).astype(np.float64)
        weight = row_weight(train)
        curve = _isotonic if self.method == "isotonic" else _platt
        self.at_, self.value_ = curve(scores, outcome, weight)
        self.reliability_ = Reliability.of(self._curve(scores), outcome, weight)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        return self._curve(self.ranker_._scores(X, offsets))

    def _curve(self, scores: Floats) -> Floats:
        if self.method == "platt":
            steepness, shift = self.at_
            return np.asarray(
                self.value_[0] / (1.0 + np.exp(-np.clip(steepness * scores + shift, -700.0, 700.0)))
            )
        curve = np.interp(scores, self.at_, self.value_)
        # A negligible slope keeps the order of scores on flat parts and beyond the ends.
        middle, reach = self.at_.mean(), max(float(np.ptp(self.at_)), 1e-300)
        slope = 1e-6 * max(float(np.ptp(self.value_)), 1e-6)
        return np.asarray(curve + slope * np.arctan((scores - middle) / reach))

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.saving.load import dumps

        table = np.array([self.reliability_.predicted, self.reliability_.observed, self.reliability_.count])
        return {"ranker": dumps(self.ranker_), "at": self.at_, "value": self.value_, "reliability": table}

    def _restore(self, state: Mapping[str, Member]) -> None:
        from rankloop.rankers.saving.load import loads

        whole: Any = state["ranker"]
        self.ranker = self.ranker_ = loads(whole)
        self.at_, self.value_ = np.asarray(state["at"]), np.asarray(state["value"])
        self.reliability_ = Reliability(*np.asarray(state["reliability"]))


def _isotonic(scores: Floats, outcome: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Centre and value of each step of the increasing step function nearest to the outcomes."""
    from scipy.optimize import isotonic_regression

    order = np.lexsort((outcome, scores))
    unique, first = np.unique(scores[order], return_index=True)
    mass = np.add.reduceat(weight[order], first)
    mean = np.add.reduceat((weight * outcome)[order], first) / np.maximum(mass, 1e-300)
    kept = mass > 0
    unique, mean, mass = unique[kept], mean[kept], mass[kept]
    found = isotonic_regression(mean, weights=mass)
    starts = found.blocks[:-1]
    centres = np.add.reduceat(mass * unique, starts) / np.add.reduceat(mass, starts)
    return centres, found.x[starts]


def _platt(scores: Floats, outcome: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Slope and shift of the logistic curve by likelihood, on standardised scores."""
    from scipy.optimize import minimize

    top = float(outcome.max())
    if top == 0:
        raise ValueError("no document of this data set has a label above 0; calibrate on judged queries")
    share, total = outcome / top, weight.sum()
    middle, spread = float(np.average(scores, weights=weight)), float(scores.std()) or 1.0
    z = (scores - middle) / spread

    def likelihood(at: Floats) -> tuple[float, Floats]:
        logit = at[0] * z + at[1]
        miss = 1.0 / (1.0 + np.exp(-np.clip(logit, -700, 700))) - share
        value = weight @ (np.logaddexp(0.0, logit) - share * logit)
        return value / total, np.array([(weight * miss) @ z, weight @ miss]) / total

    slope, shift = minimize(likelihood, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    if not slope > 0:
        raise ValueError(
            "higher scores go with lower labels here, so no increasing curve fits; check ranker and labels"
        )
    return np.array([slope / spread, shift - slope * middle / spread]), np.array([top])
