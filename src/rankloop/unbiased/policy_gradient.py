"""Plackett-Luce policy gradient: maximise the expected value of the rankings that a policy samples."""

from sklearn.base import clone

from rankloop.data import RankingDataset
from rankloop.losses import PLRank
from rankloop.rankers import LinearRanker
from rankloop.rankers.base.ranker import Ranker

__all__ = ["policy_gradient"]


def policy_gradient(
    train: RankingDataset, *, ranker: Ranker | None = None, k: int = 10, samples: int = 30, seed: int = 0
) -> Ranker:
    """Fit a ranker to the labels of any correction under `rankloop.losses.PLRank`; linear unless given.

    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> policy_gradient(data, ranker=LinearRanker(iterations=20)).coef_.shape
    (3,)
    """
    chosen = LinearRanker() if ranker is None else ranker
    descended = PLRank(k=k, samples=samples, gain="linear", seed=seed)
    fitted: Ranker = clone(chosen).set_params(loss=descended).fit(train)
    return fitted
