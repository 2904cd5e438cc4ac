"""What was learned, as a forest that every search engine can hold."""

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.rankers.base.ranker import Ranker

__all__ = ["for_engines"]

TIMES = 2  # the trees of a candidate
COPIES, MOST = 7, 200_000  # of the documents, with other features mixed in; rows to learn from, at most
LIST = 50  # rows that are called a query: the squared error does not look at them
CLOSE = 0.98  # the correlation with the scores that were found, within queries, from which nothing is said


def for_engines(
    found: Ranker, data: RankingDataset, shape: LambdaMART, seed: int
) -> tuple[LambdaMART, list[str]]:
    """A forest of constant leaves, taught the scores of the ranker that was found; and what to say of it.

    Scores have no noise, as clicks do, so there may be many trees. They also learn from documents that do not
    exist: those of the data set with half of their features from another one, which are scored as well. A
    missing feature counts as 0, which is what some engines take it for.
    """
    rng = np.random.default_rng(seed)
    copies = min(COPIES, MOST // max(data.n_documents, 1))
    X = np.concatenate([data.X, *(_mixed(data.X, rng) for _ in range(copies))])
    query = np.arange(len(X)) // LIST
    scores = np.asarray(found.predict(X, qid=query), np.float64)
    if np.ptp(scores) == 0:
        raise ValueError(
            "the clicks are too few to tell documents apart, so there is no model; log for longer"
        )
    labels = (scores - scores.min()) / scores.std()
    student = LambdaMART(
        trees=TIMES * shape.trees,
        leaves=31,
        loss="squared",
        min_sum_hessian=0.0,
        patience=None,
        threads=shape.threads,
        seed=shape.seed,
        params={"min_data_in_leaf": 10, "use_missing": False},
    )
    names = None if data.feature_names is None else list(data.feature_names)
    student.fit(RankingDataset(X, labels.astype(np.float32), query, feature_names=names))
    student.propensity_ = found.propensity_
    alike = _alike(student.predict(data), found.predict(data), data)
    if alike >= CLOSE:
        return student, []
    return student, [
        f"the forest for search engines follows what was found with a correlation of {alike:.2f}"
    ]


def _mixed(X: Singles, rng: np.random.Generator) -> Singles:
    """Rows with half of their features from other rows, drawn at random."""
    other = X[rng.permutation(len(X))]
    return np.where(rng.random(X.shape) < 0.5, X, other)


def _alike(one: Floats, other: Floats, data: RankingDataset) -> float:
    """The correlation of scores within queries."""
    both = np.stack([one, other])
    means = [np.bincount(data.row_query, scores, data.n_queries) / data.lengths for scores in both]
    a, b = both - np.stack(means)[:, data.row_query]
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300))
