"""Learning curves of online learners, with simulated users."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop._progress import progress
from rankloop.clicks import ClickModel
from rankloop.clicks import user as user_by_name
from rankloop.clicks.simulation.reader import Reader
from rankloop.data import RankingDataset
from rankloop.lists.discount import discount as rank_discount
from rankloop.metrics import dcg, ndcg
from rankloop.online.ranking import Ranking

__all__ = ["LearningCurve", "OnlineLearner", "learning_curve"]


class OnlineLearner(Protocol):
    """Shows pages and learns from the clicks on them."""

    def rank(self, X: ArrayLike, k: int = 10) -> Ranking: ...
    def learn(self, ranking: Ranking, clicks: ArrayLike) -> None: ...
    def predict(self, X: ArrayLike) -> Floats: ...


@dataclass(frozen=True, eq=False, slots=True)
class LearningCurve:
    """Offline quality by pages served, and the quality of the pages that users saw."""

    pages: Ints
    offline: Floats
    """Mean NDCG@k on the test set without exploration."""
    online: float
    """Discounted cumulative NDCG@k of the pages that users saw."""
    below_floor: float
    """The share of pages whose NDCG@k was below `floor` times that of production; nan without production."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "pages": self.pages.tolist(),
            "offline": self.offline.tolist(),
            "online": self.online,
            "below_floor": None if np.isnan(self.below_floor) else self.below_floor,
        }


def learning_curve(
    learner: OnlineLearner,
    train: RankingDataset,
    test: RankingDataset,
    *,
    user: str | ClickModel = "navigational",
    pages: int = 10_000,
    k: int = 10,
    checkpoints: Sequence[int] | int = 10,
    production: ArrayLike | None = None,
    floor: float = 0.9,
    discount: float = 0.9995,
    seed: int = 0,
) -> LearningCurve:
    """Let simulated users search with the learner; the labels of `train` are what they find relevant.

    `production` holds scores of the rows of `train` by the ranking that `floor` is relative to.

    >>> from rankloop.data import synthetic
    >>> from rankloop.online import PDGD
    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> data = synthetic(n_queries=60, docs_per_query=20, n_features=10, seed=0)
    >>> train, test = data.split(0.7, seed=0)
    >>> curve = learning_curve(PDGD(LinearRanker(), features=train), train, test, user="perfect", pages=2000)
    >>> bool(curve.offline[-1] > curve.offline[0])
    True
    """
    if pages < 1:
        raise ValueError(f"pages must be at least 1, got {pages}")
    if not 0 <= floor <= 1:
        raise ValueError(f"floor is a share of the production ranking in [0, 1], got {floor}")
    reader = Reader(user_by_name(user), train)
    random = np.random.default_rng(seed)
    queries = random.integers(train.n_queries, size=pages)
    marks = _marks(checkpoints, pages)
    ideal = _ideal(train, k)
    base = None if production is None else ndcg(production, train.y, train.offsets, k=k, empty="one")
    gain = 2.0 ** train.y.astype(np.float64) - 1
    discounts = rank_discount(np.arange(1, k + 1))
    offline = [_quality(learner, test, k)] if marks[0] == 0 else []
    total, weight, below = 0.0, 1.0, 0
    with progress("learning", pages) as advance:
        for page, query in enumerate(queries, 1):
            start, stop = train.offsets[query], train.offsets[query + 1]
            ranking = learner.rank(train.X[start:stop], k)
            rows = start + ranking.shown
            learner.learn(ranking, reader.clicks(rows, random))
            seen = gain[rows] @ discounts[: len(rows)] / ideal[query] if ideal[query] else 1.0
            total += weight * seen
            weight *= discount
            if base is not None:
                below += seen < floor * base[query]
            if page in marks:
                offline.append(_quality(learner, test, k))
                advance(0, f"ndcg@{k} {offline[-1]:.4f}")
            advance(1)
    return LearningCurve(
        np.array(marks), np.array(offline), float(total), np.nan if base is None else below / pages
    )


def _marks(checkpoints: Sequence[int] | int, pages: int) -> list[int]:
    if isinstance(checkpoints, int):
        return sorted({round(at) for at in np.linspace(0, pages, checkpoints + 1)})
    marks = sorted(set(checkpoints))
    if not marks or marks[0] < 0 or marks[-1] > pages:
        raise ValueError(f"checkpoints lie between 0 and {pages} pages, got {list(checkpoints)}")
    return marks


def _ideal(train: RankingDataset, k: int) -> Floats:
    return dcg(train.y.astype(np.float64), train.y, train.offsets, k=k, empty="zero")


def _quality(learner: OnlineLearner, test: RankingDataset, k: int) -> float:
    return float(np.nanmean(ndcg(learner.predict(test.X), test.y, test.offsets, k=k)))
