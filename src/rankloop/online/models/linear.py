"""A linear model for online learners."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.online.models.kernels import linear_scores, pull_back
from rankloop.online.models.rows import checked_rows
from rankloop.rankers.linear_ranker import LinearRanker

__all__ = ["LinearModel"]


class LinearModel:
    """Weights over standardised features: the scores of `LinearRanker`, with the weights as one vector."""

    def __init__(self, ranker: LinearRanker, features: RankingDataset | None) -> None:
        self.ranker = ranker
        if ranker.__sklearn_is_fitted__():
            self.parameters = np.array(ranker.coef_, np.float64)
            self.mean = np.array(ranker.mean_, np.float64)
            self.scale = np.array(ranker.scale_, np.float64)
        elif features is not None:
            self._standardise(features)
        else:
            self.parameters = np.zeros(0)

    def _standardise(self, features: RankingDataset) -> None:
        with np.errstate(invalid="ignore"):
            rows = features.X.astype(np.float64)
            known = ~np.isnan(rows)
            count = np.maximum(known.sum(axis=0), 1)
            mean = np.sum(rows, axis=0, where=known) / count
            spread = np.sqrt(np.sum((rows - mean) ** 2, axis=0, where=known) / count)
        self.mean, self.scale = mean, np.where(spread > 0, spread, 1.0)
        self.parameters = np.zeros(features.n_features)

    def rows(self, X: ArrayLike) -> Singles:
        """The candidates of one page; the first page sets the number of features."""
        rows = checked_rows(X, len(self.parameters) or None)
        if len(self.parameters) == 0:
            self.mean, self.scale = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
            self.parameters = np.zeros(rows.shape[1])
        return rows

    def scores(self, X: Singles, parameters: Floats | None = None) -> Floats:
        weights = self.parameters if parameters is None else parameters
        return linear_scores(X, self.mean, weights / self.scale)

    def pull_back(self, X: Singles, shown: Ints, gradient: Floats) -> Floats:
        """The gradient on the parameters, from one on the scores of shown rows."""
        return pull_back(X, shown, gradient, self.mean, self.scale)

    def to_ranker(self) -> LinearRanker:
        """A fitted ranker with the current weights."""
        from sklearn.base import clone

        made: LinearRanker = clone(self.ranker)
        made.n_features_in_ = len(self.parameters)
        made.fingerprint_ = ""
        made.metrics_ = {}
        made.propensity_ = None
        learned = {"coef": self.parameters.copy(), "mean": self.mean, "scale": self.scale}
        made._restore({**learned, "intercept": np.array(0.0), "n_iter": np.array(0)})
        return made

    def state(self) -> dict[str, Floats]:
        if len(self.parameters) == 0:
            return {}
        return {"parameters": self.parameters, "mean": self.mean, "scale": self.scale}

    def restore(self, state: Mapping[str, Floats]) -> None:
        if not state:
            self.parameters = np.zeros(0)
            return
        self.parameters = np.array(state["parameters"])
        self.mean, self.scale = np.array(state["mean"]), np.array(state["scale"])
