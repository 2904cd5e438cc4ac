"""NeuralNDCG: NDCG under a smooth sort that gives every document away once."""

from dataclasses import dataclass

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.neural_sort import neural_sort_loss
from rankloop.losses.kernels.options import at_least_one, check_gain, positive

__all__ = ["NeuralNDCG"]


@dataclass(frozen=True)
class NeuralNDCG(Loss):
    r"""One minus NDCG@k under NeuralSort with Sinkhorn scaling (Pobrotyn & Białobrzeski, 2021).

    .. math:: C = 1 - \frac{1}{\mathrm{maxDCG}} \sum_{r \le k} D(r) \sum_j \hat P_{rj} G_j

    where :math:`\hat P` is the smooth permutation of `PiRank` after `steps` rounds of dividing columns, then
    rows, by their sums: no document fills two ranks. The gradient runs through all steps. Time grows with
    steps times the square of a list, memory with steps times its length.

    >>> NeuralNDCG(temperature=0.1)([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).value.round(4)  # NDCG is 0.7967
    array([0.2033])
    """

    temperature: float = 1.0
    k: int | None = None
    steps: int = 5
    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature)
        at_least_one(self, k=self.k, steps=self.steps)
        check_gain(self, self.gain)

    @property
    def smooth(self) -> bool:
        return False  # corners of |s_j - s_m| at equal scores

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        return neural_sort_loss(lists, self.gain, temperature=self.temperature, k=self.k, steps=self.steps)
