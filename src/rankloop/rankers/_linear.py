"""What rankers with one weight per feature share: scores, and how they are saved."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rankloop.rankers._scale import Standard
from rankloop.rankers.base import Member, Ranker

__all__ = ["LinearScores"]


class LinearScores(Ranker):
    """Scores `coef_ · (x - mean_) / scale_`; a missing feature counts as its mean."""

    coef_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]
    n_iter_: int

    def _learned(self, coef: NDArray[np.float64], standard: Standard, n_iter: int) -> None:
        self.coef_, self.mean_, self.scale_, self.n_iter_ = coef, standard.mean, standard.scale, n_iter

    def _scores(self, X: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        return Standard(self.mean_, self.scale_).apply(X) @ self.coef_

    def _state(self) -> dict[str, Member]:
        return {
            "coef": self.coef_,
            "mean": self.mean_,
            "scale": self.scale_,
            "n_iter": np.array(self.n_iter_),
        }

    def _restore(self, state: Mapping[str, Member]) -> None:
        self.coef_, self.mean_, self.scale_ = (np.asarray(state[name]) for name in ("coef", "mean", "scale"))
        self.n_iter_ = int(np.asarray(state["n_iter"]))
