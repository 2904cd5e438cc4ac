"""NeuralNDCG: NDCG under a smooth sort that uses every document once."""

from dataclasses import dataclass

from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.neural_sort import neural_sort_loss
from rankloop.losses.kernels.options import at_least_one, check_gain, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["NeuralNDCG"]

LONGEST = 4000  # documents of a list: its scaling takes seconds


@dataclass(frozen=True)
class NeuralNDCG(Loss):
    r"""One minus NDCG@k under NeuralSort with Sinkhorn scaling (Pobrotyn & Białobrzeski, 2021).

    .. math:: C = 1 - \frac{1}{\mathrm{maxDCG}} \sum_{r \le k} D(r) \sum_j \hat P_{rj} G_j

    where :math:`\hat P` is the smooth permutation of `PiRank`, its rows and columns scaled until all sums are
    one: no document fills two ranks. The scaling ends where no sum is off by more than `tolerance`, at the
    latest after `iterations` steps, and the gradient goes through it. Sinkhorn's own steps need hundreds
    where scores lie close: after eight of them come Newton's, which need about ten.

    The scaling takes all ranks, whatever k: its time grows with the square of a list. With `truncation`, a
    longer list is represented by that many documents, half of them those with the highest gains, the others
    those with the highest scores; the rest get no gradient. A list above 4,000 documents needs it.

    >>> NeuralNDCG(temperature=0.1)([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).value.round(4)  # NDCG is 0.7967
    array([0.2033])
    """

    temperature: float = 1.0
    k: int | None = None
    iterations: int = 100
    tolerance: float = 1e-8
    gain: str | tuple[float, ...] = "exp2"
    truncation: int | None = None

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature, tolerance=self.tolerance)
        at_least_one(self, k=self.k, iterations=self.iterations, truncation=self.truncation)
        check_gain(self, self.gain)

    @property
    def smooth(self) -> bool:
        return False  # corners of |s_j - s_m| at equal scores

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        if min(lists.longest, self.truncation or lists.longest) > LONGEST:
            raise ValueError(
                f"NeuralNDCG scales a matrix with a row and a column for each document, and a list has "
                f"{lists.longest:,}; pass truncation=1000 (at most {LONGEST:,}), or take PiRank(k=100)"
            )
        return neural_sort_loss(
            lists,
            self.gain,
            temperature=self.temperature,
            k=self.k,
            iterations=self.iterations,
            tolerance=self.tolerance,
            truncation=self.truncation,
        )
