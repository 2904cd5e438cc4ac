"""The likelihood of clicks as a loss for boosted trees."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankloop._arrays import Bools, Floats, Ints
from rankloop.losses import Loss
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["CellLikelihood", "next_curve"]

LEAST = 1e-6  # of a learned curve, where EM finds no end: a rank without clicks
STEPS = 3  # of EM for the curve per tree: EM converges slowly, and the trees take most of the time


@dataclass(eq=False)
class CellLikelihood(Loss):
    r"""Minus the log-likelihood of :math:`P(c = 1) = \alpha_k \sigma(s_d + b) + \beta_k`, cell by cell.

    The gradient and the Fisher information of a document are sums over the ranks it was shown at. With
    `learn`, every call also moves the curve by a few steps of EM, so that trees and curve are learned
    together.
    """

    pointwise: ClassVar[bool] = True

    row: Ints  # of each cell, in the data set that is trained on
    rank: Ints  # from 0
    impressions: Floats
    clicks: Floats
    alpha: Floats
    beta: Floats
    rows: int
    learn: bool
    level: float
    curve: Floats

    @classmethod
    def of(cls, seen: Evidence, kept: Bools, curve: Floats | None) -> "CellLikelihood":
        """Of the cells whose row is kept. A `curve` is the start of a learned one; else alpha is fixed."""
        cells = kept[seen.row]
        place = np.cumsum(kept) - 1
        rank = seen.position[cells].astype(np.int64) - 1
        shown, clicked = seen.impressions[cells], seen.clicks[cells]
        alpha = seen.alpha[cells] if curve is None else curve[rank]
        beta = seen.beta[cells]
        mean = (clicked.sum() - (shown * beta).sum()) / (shown * alpha).sum()
        mean = min(max(mean, 0.01), 0.9)
        return cls(
            place[seen.row[cells]],
            rank,
            shown,
            clicked,
            alpha,
            beta,
            int(kept.sum()),
            curve is not None,
            float(np.log(mean / (1 - mean))),
            np.ones(0) if curve is None else curve.copy(),
        )

    @property
    def name(self) -> str:
        return "clicklikelihood"

    def derivatives(self, scores: Any, labels: Any, offsets: Any, **others: Any) -> tuple[Floats, Floats]:
        relevance = expit(np.asarray(scores, np.float64) + self.level)[self.row]
        if self.learn:
            for _ in range(STEPS):
                self._step(relevance)
        probability, slope = self._probability(relevance)
        lambda_ = -(self.clicks / probability - (self.impressions - self.clicks) / (1 - probability)) * slope
        information = self.impressions * slope**2 / (probability * (1 - probability))
        gradient = np.asarray(np.bincount(self.row, lambda_, self.rows), np.float64)
        hessian = np.asarray(np.bincount(self.row, information, self.rows), np.float64)
        return gradient, np.maximum(hessian, 1e-6)

    def value(self, scores: Floats) -> float:
        """The mean of minus the log-likelihood of an impression."""
        return float(self.costs(scores).sum() / self.impressions.sum())

    def costs(self, scores: Floats) -> Floats:
        """Minus the log-likelihood of the clicks on each row."""
        probability, _ = self._probability(expit(scores + self.level)[self.row])
        total = self.clicks * np.log(probability) + (self.impressions - self.clicks) * np.log1p(-probability)
        return np.asarray(np.bincount(self.row, -total, self.rows), np.float64)

    def _probability(self, relevance: Floats) -> tuple[Floats, Floats]:
        probability = np.clip(self.alpha * relevance + self.beta, 1e-7, 1 - 1e-7)
        return probability, self.alpha * relevance * (1 - relevance)

    def _step(self, relevance: Floats) -> None:
        self.curve = next_curve(self.curve, self.rank, self.impressions, self.clicks, self.alpha, relevance)
        self.alpha = self.curve[self.rank]


def next_curve(
    curve: Floats,
    rank: NDArray[np.integer[Any]],
    impressions: Floats,
    clicks: Floats,
    examination: Floats,
    relevance: Floats,
) -> Floats:
    """One step of EM: the expected share of impressions examined at each rank (Wang et al., 2018)."""
    skipped = examination * (1 - relevance) / np.maximum(1 - examination * relevance, 1e-12)
    examined = np.bincount(rank, clicks + (impressions - clicks) * skipped, len(curve))
    shown = np.bincount(rank, impressions, len(curve))
    new = np.where(shown > 0, examined / np.maximum(shown, 1e-300), curve)
    return np.asarray(np.maximum(new / new.max(), LEAST), np.float64)
