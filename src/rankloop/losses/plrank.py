"""PL-Rank: the expected value of the rankings that a stochastic policy would draw."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists
from rankloop.lists import discount, gains, rank_lists
from rankloop.losses.kernels.draws import gumbel_draws
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logsum import NOTHING, add_logs
from rankloop.losses.kernels.options import at_least_one, check_gain
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["PLRank"]


@dataclass(frozen=True)
class PLRank(Loss):
    r"""Minus the expected DCG@k under the Plackett-Luce policy of the scores (Oosterhuis, 2021, 2022).

    .. math:: C = -\mathbb{E}_{y \sim \pi_s} \Big[ \sum_{r \le k} D(r) \, G_{y_r} \Big], \quad
        \frac{\partial C}{\partial s_d} = -\mathbb{E}_y \Big[ R_{r(d) + 1} +
        \sum_{r \le r(d)} \pi(d \mid y_{<r}) (D(r) G_d - R_r) \Big]

    with :math:`R_r` the reward from rank r on. Value and gradient are means over `samples` rankings, each of
    which costs a sort and one pass (PL-Rank-3); they follow from `seed`, and `rankloop.losses.redraw` gives
    the loss with other draws. Hessian: that of a softmax at every rank, times the reward there.

    >>> PLRank(samples=5000, seed=1)([0.0, 0.0], [0, 1], [0, 2]).value.round(2)  # (1 + 1 / log2(3)) / 2
    array([-0.82])
    """

    k: int = 10
    samples: int = 30
    gain: str | tuple[float, ...] = "exp2"
    seed: int = 0

    def __post_init__(self) -> None:
        at_least_one(self, k=self.k, samples=self.samples)
        check_gain(self, self.gain)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        gain, table = lists.weighted(gains(lists.labels, self.gain)), discount(np.arange(1, self.k + 1))
        made = LossResult.zeros(lists.n_lists, lists.n_documents)
        for sample in range(self.samples):
            noisy = lists.scores + gumbel_draws(self.seed, lists.n_documents, sample)
            add_ranking(lists, gain, rank_lists(noisy, lists.offsets), table, made)
        return LossResult(*(part / self.samples for part in made))


def add_ranking(lists: LossLists, gain: Floats, ranking: Ints, discount: Floats, sums: LossResult) -> None:
    """Add value, gradient and Hessian of one drawn ranking of each list to the sums."""

    def work(first: int, last: int) -> None:
        _rank_lists(first, last, lists.scores, lists.offsets, gain, ranking, discount, sums)

    over_lists(work, lists.offsets)


@kernel
def _rank_lists(
    first: int,
    last: int,
    scores: Floats,
    offsets: Ints,
    gain: Floats,
    ranking: Ints,
    discount: Floats,
    made: LossResult,
) -> None:
    value, gradient, hessian = made
    for q in range(first, last):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        k = min(discount.size, n)
        race, reward = np.empty(n), np.zeros(n + 1)  # log of who is left at each rank; reward from there on
        lambda_ = np.empty(n)
        total = NOTHING
        for r in range(n - 1, -1, -1):
            d = ranking[start + r]
            total = add_logs(total, scores[d])
            race[r] = total
            reward[r] = reward[r + 1] + (discount[r] * gain[d] if r < k else 0.0)
        value[q] -= reward[0]
        # Logarithms of the sums of reward / race, discount / race and reward / race^2 down to rank r.
        lost, won, curved = NOTHING, NOTHING, NOTHING
        for r in range(n):
            d = ranking[start + r]
            if r < k:
                heavy = np.log(reward[r]) if reward[r] > 0.0 else NOTHING
                lost = add_logs(lost, heavy - race[r])
                won = add_logs(won, np.log(discount[r]) - race[r])
                curved = add_logs(curved, heavy - 2.0 * race[r])
            pull = np.exp(scores[d] + lost)
            lambda_[r] = pull - reward[r + 1] - gain[d] * np.exp(scores[d] + won)
            hessian[d] += max(pull - np.exp(2.0 * scores[d] + curved), 0.0)
        drift = lambda_.mean() if n > 0 else 0.0  # only noise: a shift of all scores changes nothing
        for r in range(n):
            gradient[ranking[start + r]] += lambda_[r] - drift
