"""The features of documents as normal scores."""

import numpy as np
from scipy.special import ndtri

from rankloop._arrays import Floats, Ints
from rankloop.data import RankingDataset

__all__ = ["design"]

KNOTS = 256


def design(data: RankingDataset, row: Ints) -> Floats:
    """Normal scores of each feature (its quantile on the bell curve), 0 where missing; a column of ones last.

    Heavy tails and different scales then do not matter, and a linear model becomes monotone in each feature.
    """
    X = data.X[row]
    out = np.ones((len(X), X.shape[1] + 1))
    at = (np.arange(KNOTS) + 0.5) / KNOTS
    for j in range(X.shape[1]):
        column = X[:, j].astype(np.float64)
        known = np.isfinite(column)
        score = np.zeros(len(column))
        if known.any():
            knots, first = np.unique(np.quantile(column[known], at), return_index=True)
            last = np.append(first[1:], KNOTS) - 1
            middle = (at[first] + at[last]) / 2  # equal values get the middle of their quantiles
            score[known] = ndtri(np.interp(column[known], knots, middle))
        spread = score.std()
        out[:, j] = (score - score.mean()) / spread if spread > 1e-9 else 0.0
    return out
