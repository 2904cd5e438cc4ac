"""Plackett-Luce policy gradient: climb the expected value of the rankings a policy would draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankloop._jit import kernel
from rankloop.data import RankingDataset
from rankloop.losses import Loss, LossResult
from rankloop.losses._input import Lists
from rankloop.rankers import LinearRanker
from rankloop.rankers.base import Ranker
from rankloop.unbiased._evidence import Floats

__all__ = ["PLRank", "policy_gradient"]


def policy_gradient(
    train: RankingDataset, *, ranker: Ranker | None = None, k: int = 10, draws: int = 30, seed: int = 0
) -> Ranker:
    """Fit a ranker to the labels of any correction by PL-Rank; linear unless given.

    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> policy_gradient(data, ranker=LinearRanker(max_iter=20)).coef_.shape
    (3,)
    """
    chosen = LinearRanker() if ranker is None else ranker
    fitted: Ranker = clone(chosen).set_params(loss=PLRank(k=k, draws=draws, seed=seed))
    fitted.fit(train)
    fitted.set_params(loss="softmax")  # what a file can say of it: a listwise loss
    return fitted


@dataclass(frozen=True)
class PLRank(Loss):
    r"""Minus the expected DCG@k under the Plackett-Luce policy of the scores (Oosterhuis, 2021, 2022).

    .. math:: -\mathbb{E}_{y \sim \pi_s} \Big[ \sum_{r \le k} \theta_r \, l_{y_r} \Big], \qquad
        \frac{\partial}{\partial s_d} = -\mathbb{E}_y \Big[ R_{r(d) + 1} +
        \sum_{r \le r(d)} \pi(d \mid y_{<r}) (\theta_r l_d - R_r) \Big]

    with :math:`R_r` the reward from rank r on and :math:`\theta_r = 1 / \log_2(1 + r)`; each of the `draws`
    costs a sort and one pass (PL-Rank-3). Labels are gains, on a linear scale.

    >>> PLRank(draws=5000)([0.0, 0.0], [0, 1], [0, 2]).value.round(2)
    array([-0.82])
    """

    k: int = 10
    draws: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        if self.k < 1 or self.draws < 1:
            raise ValueError(f"PLRank: k and draws are at least 1, got {self.k} and {self.draws}")

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        rng = np.random.default_rng(self.seed)
        query = np.repeat(np.arange(lists.n_lists), np.diff(lists.offsets))
        gains = lists.mass(lists.labels.astype(np.float64))
        theta = 1.0 / np.log2(np.arange(2.0, self.k + 2))
        scores = np.ascontiguousarray(lists.scores, np.float64)
        found = np.zeros(lists.n_lists), np.zeros(lists.n_documents), np.zeros(lists.n_documents)
        for _ in range(self.draws):
            order = np.lexsort((-(scores + rng.gumbel(size=len(scores))), query))
            rank_gradient(scores, gains, lists.offsets, order, theta, *found)
        value, gradient, curvature = (one / self.draws for one in found)
        return LossResult(-value, -gradient, curvature)


@kernel
def rank_gradient(
    scores: Floats,
    gains: Floats,
    offsets: NDArray[np.int64],
    order: NDArray[np.int64],
    theta: Floats,
    value: Floats,
    gradient: Floats,
    curvature: Floats,
) -> None:
    """Add the value of one drawn order of each list, its gradient and a curvature above 0."""
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        n = b - a
        if n == 0:
            continue
        k = min(len(theta), n)
        top = scores[a]
        for i in range(a, b):
            top = max(top, scores[i])
        reward = np.zeros(k + 1)  # from each rank on
        for r in range(k - 1, -1, -1):
            reward[r] = reward[r + 1] + theta[r] * gains[order[a + r]]
        value[q] += reward[0]
        left = np.zeros(n + 1)  # what is in the race at each rank
        for r in range(n - 1, -1, -1):
            left[r] = left[r + 1] + np.exp(scores[order[a + r]] - top)
        lost, won, bent = 0.0, 0.0, 0.0
        for r in range(n):
            if r < k:
                lost += reward[r] / left[r]
                won += theta[r] / left[r]
                bent += reward[r] / left[r] / left[r]
            d = order[a + r]
            odds = np.exp(scores[d] - top)
            after = reward[r + 1] if r < k else 0.0
            gradient[d] += after + odds * (gains[d] * won - lost)
            curvature[d] += max(odds * lost - odds * odds * bent, 0.0)
