"""Gumbel perturbation: the expectation of a loss over noisy rankings."""

from dataclasses import dataclass

import numpy as np

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.options import at_least_one, positive
from rankloop.losses.loss import loss as find

__all__ = ["Gumbel"]


@dataclass(frozen=True)
class Gumbel(Loss):
    r"""Any loss, averaged over scores with Gumbel noise (Bruch et al., 2020): rankings by Plackett-Luce.

    .. math:: C = \frac{1}{S} \sum_{k=1}^{S} C_0(s + \beta g_k), \quad g = -\log(-\log U)

    The noise follows from `seed`; `rankloop.losses.redraw` gives the loss of the next round.

    >>> Gumbel("approxndcg", samples=4, seed=1).name
    'gumbel(samples=4, seed=1)'
    """

    loss: Loss | str = "approxndcg"
    samples: int = 8
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", find(self.loss))
        at_least_one(self, samples=self.samples)
        positive(self, scale=self.scale)

    @property
    def smooth(self) -> bool:
        return find(self.loss).smooth

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        rng, base = np.random.default_rng(self.seed), find(self.loss)
        value, gradient, hessian = (
            np.zeros(lists.n_lists),
            np.zeros(lists.n_documents),
            np.zeros(lists.n_documents),
        )
        for _ in range(self.samples):
            noisy = lists.scores + self.scale * rng.gumbel(size=lists.n_documents)
            part = base._compute(lists._replace(scores=noisy), exact)
            value += part.value / self.samples
            gradient += part.gradient / self.samples
            hessian += part.hessian / self.samples
        return LossResult(value, gradient, hessian)
