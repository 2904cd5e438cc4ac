"""Counterfactual online learning to rank."""

from typing import Unpack

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop._options import passes_to
from rankloop.online.learner import Learner, LearnerOptions
from rankloop.online.models.kernels import log_page_probability
from rankloop.online.ranking import Ranking
from rankloop.rankers import Ranker

__all__ = ["COLTR"]


class COLTR(Learner):
    r"""Shows a Plackett-Luce page and evaluates many challengers on it afterwards (Zhuang & Zuccon, 2020).

    Each examined document (down to the last click) has risk 1 if it was skipped and 0 if it was clicked. A
    challenger's risk is self-normalised, with a penalty for its uncertainty,

    .. math:: \hat R = \frac{\sum_k w_k r_k}{\sum_k w_k} + \lambda \sqrt{\widehat{Var} / n},
        \quad w_k = \frac{P'(d_k \mid \text{above})}{P(d_k \mid \text{above})}

    with each probability over all remaining candidates, under the challenger's and the current scores. The
    step goes towards the mean of the challengers that beat the current weights. `decay` is as in `PDGD`.

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> learner = COLTR(LinearRanker(), seed=0)
    >>> page = learner.rank(np.eye(3), k=3)
    >>> learner.learn(page, [0, 1, 0])
    >>> bool(np.any(learner.model.parameters != 0))
    True
    """

    name = "coltr"

    @passes_to(Learner.__init__)
    def __init__(
        self,
        ranker: Ranker,
        *,
        challengers: int = 50,
        delta: float = 1.0,
        penalty: float = 1.0,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(ranker, **options)
        if challengers < 1 or not delta > 0 or penalty < 0:
            raise ValueError("challengers is at least 1, delta above 0 and penalty at least 0")
        self.challengers, self.delta, self.penalty = challengers, delta, penalty

    def _learn(self, ranking: Ranking, clicks: Bools) -> None:
        if not clicks.any():
            return
        seen = int(np.flatnonzero(clicks)[-1]) + 1
        risk = 1.0 - clicks[:seen].astype(np.float64)
        current = log_page_probability(ranking.notes["scores"], ranking.shown)[:seen]
        bar = self._risk(risk, np.ones(seen))
        winners = [
            direction
            for direction in self._unit_vectors(self.challengers)
            if self._challenger_risk(ranking, direction, risk, current) < bar
        ]
        if winners:
            self.model.parameters += self.learning_rate * np.mean(winners, axis=0)

    def _challenger_risk(self, ranking: Ranking, direction: Floats, risk: Floats, current: Floats) -> float:
        scores = self.model.scores(ranking.X, self.model.parameters + self.delta * direction)
        chance = log_page_probability(scores, ranking.shown)[: len(risk)]
        return self._risk(risk, np.exp(chance - current))

    def _risk(self, risk: Floats, weight: Floats) -> float:
        total = weight.sum()
        if total <= 0:
            return np.inf
        mean = float(weight @ risk / total)
        spread = np.sqrt(np.mean((weight * (risk - mean)) ** 2) / len(risk)) / (total / len(risk))
        return mean + self.penalty * float(spread)
