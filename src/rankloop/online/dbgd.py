"""Dueling bandit gradient descent."""

from rankloop.data import RankingDataset
from rankloop.online.mgd import MGD
from rankloop.rankers import Ranker

__all__ = ["DBGD"]


class DBGD(MGD):
    """Interleaves one random challenger per page and steps towards it if it wins (Yue & Joachims, 2009).

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> DBGD(LinearRanker()).challengers
    1
    """

    name = "dbgd"

    def __init__(
        self,
        ranker: Ranker,
        *,
        delta: float = 1.0,
        learning_rate: float = 0.01,
        features: RankingDataset | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            ranker, challengers=1, delta=delta, learning_rate=learning_rate, features=features, seed=seed
        )
