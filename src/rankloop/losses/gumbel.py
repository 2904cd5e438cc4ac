"""Gumbel perturbation: the expectation of a loss over noisy rankings."""

from dataclasses import dataclass

from rankloop.losses.kernels.draws import gumbel_draws
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import at_least_one, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss import loss as find
from rankloop.losses.loss_result import LossResult

__all__ = ["Gumbel"]


@dataclass(frozen=True)
class Gumbel(Loss):
    r"""Any loss, averaged over scores with Gumbel noise (Bruch et al., 2020): rankings by Plackett-Luce.

    .. math:: C = \frac{1}{S} \sum_{k=1}^{S} C_0(s + \beta g_k), \quad g = -\log(-\log U)

    The noise follows from `seed`; `rankloop.losses.redraw` gives the loss with other noise.

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

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        base = find(self.loss)
        made = LossResult.zeros(lists.n_lists, lists.n_documents)
        for sample in range(self.samples):
            noisy = lists.scores + self.scale * gumbel_draws(self.seed, lists.n_documents, sample)
            part = base._compute(lists.replace(scores=noisy), exact)
            for total, one in zip(made, part, strict=True):
                total += one / self.samples
        return made
