"""Two towers as a loss for boosted trees: a rank and a document add up to the log-odds of a click."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from rankloop._arrays import Bools, Floats, Ints
from rankloop.losses import Loss
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["TwoTowers"]

STEPS = 2  # of Newton for the ranks, before every tree
PRIOR = 1.0  # the precision of the effect of a rank: one that was hardly shown stays near 0


@dataclass(eq=False)
class TwoTowers(Loss):
    r"""Minus the log-likelihood of :math:`P(c = 1) = \sigma(g_k + s_d)`, cell by cell.

    Every call first moves the effects of the ranks, :math:`g`, by steps of Newton.
    """

    pointwise: ClassVar[bool] = True

    row: Ints
    rank: Ints  # from 0
    impressions: Floats
    clicks: Floats
    rows: int
    effect: Floats

    @classmethod
    def of(cls, seen: Evidence, kept: Bools) -> "TwoTowers":
        """Of the cells whose row is kept; the effects start at the click rate of each rank."""
        cells = kept[seen.row]
        rank = seen.position[cells].astype(np.int64) - 1
        shown, clicked = seen.impressions[cells], seen.clicks[cells]
        depth = int(seen.position.max())
        rate = (np.bincount(rank, clicked, depth) + 0.5) / (np.bincount(rank, shown, depth) + 1.0)
        place = np.cumsum(kept) - 1
        return cls(
            place[seen.row[cells]], rank, shown, clicked, int(kept.sum()), np.log(rate) - np.log1p(-rate)
        )

    @property
    def name(self) -> str:
        return "twotowers"

    def derivatives(self, scores: Any, labels: Any, offsets: Any, **others: Any) -> tuple[Floats, Floats]:
        score = np.asarray(scores, np.float64)[self.row]
        for _ in range(STEPS):
            self._step(score)
        chance = expit(score + self.effect[self.rank])
        gradient = np.bincount(self.row, self.impressions * chance - self.clicks, self.rows)
        information = np.bincount(self.row, self.impressions * chance * (1 - chance), self.rows)
        return np.asarray(gradient, np.float64), np.maximum(information, 1e-6)

    def _step(self, score: Floats) -> None:
        chance = expit(score + self.effect[self.rank])
        depth = len(self.effect)
        missing = np.bincount(self.rank, self.clicks - self.impressions * chance, depth)
        information = np.bincount(self.rank, self.impressions * chance * (1 - chance), depth)
        self.effect = self.effect + np.clip(missing / (information + PRIOR), -1.0, 1.0)
