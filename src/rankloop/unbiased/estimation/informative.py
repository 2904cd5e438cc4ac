"""Which features tell anything."""

import numpy as np
from numpy.typing import NDArray

from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.likelihood import boosted

__all__ = ["telling"]

PARTS = 5  # of the queries, each predicted by what the others taught
CLEARLY = 3.0  # standard errors over queries


def telling(seen: Evidence, ranker: LambdaMART, seed: int) -> NDArray[np.bool_]:
    """The features without which clicks on queries that were not learned from are clearly harder to predict.

    Each is shuffled among the documents of the queries that a forest has not seen (Breiman, 2001). All are
    kept where no query is left to judge by, or where none tells anything.
    """
    data = seen.data
    rng = np.random.default_rng(seed)
    part = rng.permutation(data.n_queries)[data.row_query] % PARTS
    harm = np.zeros((data.n_features, data.n_queries))
    for one in range(PARTS):
        taught, judged = seen.shown & (part != one), seen.shown & (part == one)
        if not (taught.any() and judged.any()):
            return np.ones(data.n_features, bool)
        forest, cells = boosted(seen, taught, ranker, learn=False)
        judge = CellLikelihood.of(seen, judged, None)
        judge.level = cells.level
        X, query = data.X[judged].copy(), data.row_query[judged]
        usual = judge.costs(forest.predict(X))
        for feature in range(data.n_features):
            column = X[:, feature].copy()
            X[:, feature] = rng.permutation(column)
            more = judge.costs(forest.predict(X)) - usual
            harm[feature] += np.bincount(query, more, data.n_queries)
            X[:, feature] = column
    asked = harm[:, np.unique(data.row_query[seen.shown])]
    kept = asked.sum(axis=1) > CLEARLY * np.sqrt(asked.shape[1]) * asked.std(axis=1)
    return kept if kept.any() else np.ones(data.n_features, bool)
