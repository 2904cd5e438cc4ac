"""NeuralNDCG: NDCG under a smooth sort that uses every document once."""

from dataclasses import dataclass

from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.neural_sort import neural_sort_loss
from rankloop.losses.kernels.options import at_least_one, check_gain, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["NeuralNDCG"]


@dataclass(frozen=True)
class NeuralNDCG(Loss):
    r"""One minus NDCG@k under NeuralSort with Sinkhorn scaling (Pobrotyn & Białobrzeski, 2021).

    .. math:: C = 1 - \frac{1}{\mathrm{maxDCG}} \sum_{r \le k} D(r) \sum_j \hat P_{rj} G_j

    where :math:`\hat P` is the smooth permutation of `PiRank` after `iterations` of dividing columns,
    then rows, by their sums: no document fills two ranks. The gradient goes through all of them. Time grows
    with iterations times the square of a list, memory with iterations times its length.

    >>> NeuralNDCG(temperature=0.1)([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).value.round(4)  # NDCG is 0.7967
    array([0.2033])
    """

    temperature: float = 1.0
    k: int | None = None
    iterations: int = 5
    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature)
        at_least_one(self, k=self.k, iterations=self.iterations)
        check_gain(self, self.gain)

    @property
    def smooth(self) -> bool:
        return False  # corners of |s_j - s_m| at equal scores

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        return neural_sort_loss(
            lists, self.gain, temperature=self.temperature, k=self.k, iterations=self.iterations
        )
