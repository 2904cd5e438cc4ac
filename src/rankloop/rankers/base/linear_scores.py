"""Rankers with one weight per feature: their scores and their file."""

from collections.abc import Mapping

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.base.scale import Standard

__all__ = ["LinearScores"]


class LinearScores(Ranker):
    """Scores `coef_ · (x - mean_) / scale_ + intercept_`; a missing feature counts as its mean."""

    coef_: Floats
    mean_: Floats
    scale_: Floats
    intercept_: float
    n_iter_: int

    def _learned(self, coef: Floats, standard: Standard, n_iter: int, intercept: float = 0.0) -> None:
        self.coef_, self.mean_, self.scale_ = coef, standard.mean, standard.scale
        self.intercept_, self.n_iter_ = intercept, n_iter

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        # Not a matrix product, whose last digits depend on how many rows are scored together.
        scores: Floats = np.einsum("rf,f->r", Standard(self.mean_, self.scale_).apply(X), self.coef_)
        return scores + self.intercept_

    def _state(self) -> dict[str, Member]:
        return {
            "coef": self.coef_,
            "mean": self.mean_,
            "scale": self.scale_,
            "intercept": np.array(self.intercept_),
            "n_iter": np.array(self.n_iter_),
        }

    def _restore(self, state: Mapping[str, Member]) -> None:
        self.coef_, self.mean_, self.scale_ = (np.asarray(state[name]) for name in ("coef", "mean", "scale"))
        self.intercept_, self.n_iter_ = (
            float(np.asarray(state["intercept"])),
            int(np.asarray(state["n_iter"])),
        )
