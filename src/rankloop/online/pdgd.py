"""Pairwise differentiable gradient descent."""

import numpy as np

from rankloop._arrays import Bools
from rankloop.online.learner import Learner
from rankloop.online.models.kernels import pdgd_gradient
from rankloop.online.ranking import Ranking

__all__ = ["PDGD"]


class PDGD(Learner):
    r"""Shows a Plackett-Luce page and learns from the pairs its clicks prefer (Oosterhuis & de Rijke, 2018).

    .. math:: \sum_{i \succ j} \rho_{ij} \frac{e^{s_i} e^{s_j}}{(e^{s_i} + e^{s_j})^2}
        (\nabla s_i - \nabla s_j), \quad \rho_{ij} = \frac{P(y^*)}{P(y) + P(y^*)}

    where :math:`y^*` is the page with i and j swapped, with its exact probability over all candidates.

    The larger the weights, the less it explores. Where preferences may reverse, `decay` shrinks the weights
    by that share with every page: pages without clicks then return to random exploration.

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> learner = PDGD(LinearRanker(), seed=0)
    >>> candidates = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> for _ in range(200):
    ...     page = learner.rank(candidates, k=2)
    ...     learner.learn(page, page.shown == 1)  # people click the second candidate
    >>> int(learner.predict(candidates).argmax())
    1
    """

    name = "pdgd"

    def _learn(self, ranking: Ranking, clicks: Bools) -> None:
        places = len(ranking)
        allowed = ranking.notes.get("allowed")
        if allowed is None:
            allowed = np.ones((places, places), np.bool_)
        gradient = pdgd_gradient(ranking.notes["scores"], ranking.shown, clicks, allowed)
        self.model.parameters += self.learning_rate * self.model.pull_back(ranking.X, ranking.shown, gradient)
