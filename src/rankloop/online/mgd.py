"""Multileave gradient descent: dueling bandit gradient descent against many challengers."""

from typing import TypedDict

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.interleaving import Page, TeamDraft
from rankloop.online.learner import Learner
from rankloop.online.models.kernels import top_k
from rankloop.online.ranking import Ranking
from rankloop.rankers import Ranker

__all__ = ["MGD", "DuelOptions"]


class DuelOptions(TypedDict, total=False):
    """Parameters of every duel against challengers; the defaults are those of `MGD`."""

    delta: float
    learning_rate: float
    features: RankingDataset | None
    seed: int


class MGD(Learner):
    """Multileaves challengers of the current weights, steps towards the mean winner (Schuth et al., 2016).

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> learner = MGD(LinearRanker(), challengers=4, seed=0)
    >>> page = learner.rank(np.eye(3), k=3)
    >>> learner.learn(page, [1, 0, 0])
    >>> learner.pages
    1
    """

    name = "mgd"

    def __init__(
        self,
        ranker: Ranker,
        *,
        challengers: int = 9,
        delta: float = 1.0,
        learning_rate: float = 0.01,
        features: RankingDataset | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(ranker, learning_rate=learning_rate, features=features, seed=seed)
        if challengers < 1:
            raise ValueError(f"challengers must be at least 1, got {challengers}")
        if not delta > 0:
            raise ValueError(f"delta must be above 0, got {delta}")
        self.challengers = challengers
        self.delta = delta

    def _rank(self, X: Singles, k: int) -> Ranking:
        directions = self._directions(X, self.challengers)
        rankings = [top_k(self.model.scores(X), k).tolist()]
        for direction in directions:
            candidate = self.model.parameters + self.delta * direction
            rankings.append(top_k(self.model.scores(X, candidate), k).tolist())
        duel = TeamDraft(seed=int(self.random.integers(2**63)))
        page = duel.combine(rankings, k)
        shown = np.array(page.documents, np.int64)
        return Ranking(X, shown, {"by": self.name, "directions": directions, "page": page})

    def _learn(self, ranking: Ranking, clicks: Bools) -> None:
        page: Page = ranking.notes["page"]
        credit = TeamDraft().credit(page, ranking.shown[clicks].tolist())
        better = np.flatnonzero(credit[1:] > credit[0])
        if len(better):
            towards = self._winner(ranking, clicks, better)
            self.model.parameters += self.learning_rate * towards

    def _directions(self, X: Singles, n: int) -> Floats:
        """The directions of the challengers on this page."""
        return self._unit_vectors(n)

    def _winner(self, ranking: Ranking, clicks: Bools, better: Ints) -> Floats:
        """The mean of the winning directions."""
        return np.asarray(ranking.notes["directions"][better].mean(axis=0))
