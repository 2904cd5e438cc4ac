"""Small data sets of which tests know what is relevant, and why."""

import numpy as np

from rankloop.data import RankingDataset


def two_features(queries):
    """Lists of ten with four features, of which the first two make relevance."""
    X = np.random.default_rng(0).normal(size=(10 * queries, 4)).astype(np.float32)
    worth = X[:, 0] + 0.7 * X[:, 1]
    y = np.searchsorted(np.quantile(worth, [0.5, 0.75, 0.88, 0.96]), worth)
    return RankingDataset.from_groups(X, y, np.full(queries, 10))
