"""Feature selection by permutation importance on held-out clicks."""

import numpy as np

from rankloop._arrays import Bools
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.likelihood import boosted

__all__ = ["informative"]

FOLDS = 5  # of the queries, each predicted by a forest trained on the others
CLEARLY = 3.0  # standard errors over queries


def informative(seen: Evidence, ranker: LambdaMART, seed: int) -> Bools:
    """The features without which the clicks on held-out queries are clearly harder to predict.

    Each is permuted among the documents of the queries that the forest was not trained on (Breiman, 2001).
    All are kept where there are too few queries for that, or where no feature is informative.
    """
    data = seen.data
    rng = np.random.default_rng(seed)
    part = rng.permutation(data.n_queries)[data.row_query] % FOLDS
    harm = np.zeros((data.n_features, data.n_queries))
    for one in range(FOLDS):
        trained, tested = seen.shown & (part != one), seen.shown & (part == one)
        if not (trained.any() and tested.any()):
            return np.ones(data.n_features, bool)
        forest, cells = boosted(seen, trained, ranker, learn=False)
        held_out = CellLikelihood.of(seen, tested, None)
        held_out.level = cells.level
        X, query = data.X[tested].copy(), data.row_query[tested]
        usual = held_out.costs(forest.predict(X))
        for feature in range(data.n_features):
            column = X[:, feature].copy()
            X[:, feature] = rng.permutation(column)
            more = held_out.costs(forest.predict(X)) - usual
            harm[feature] += np.bincount(query, more, data.n_queries)
            X[:, feature] = column
    harm = harm[:, np.unique(data.row_query[seen.shown])]
    kept = harm.sum(axis=1) > CLEARLY * np.sqrt(harm.shape[1]) * harm.std(axis=1)
    return kept if kept.any() else np.ones(data.n_features, bool)
