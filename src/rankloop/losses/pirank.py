"""PiRank: NDCG under a smooth sort."""

from dataclasses import dataclass

from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.neural_sort import neural_sort_loss
from rankloop.losses.kernels.options import at_least_one, check_gain, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["PiRank"]

MOST = 500_000_000  # entries of the smooth sort of a list: some seconds where no score stands out


@dataclass(frozen=True)
class PiRank(Loss):
    r"""One minus NDCG@k under the NeuralSort relaxation (Swezey et al., 2021; Grover et al., 2019).

    .. math:: C = 1 - \frac{1}{\mathrm{maxDCG}} \sum_{r \le k} D(r) \sum_j P_{rj} G_j, \quad
        P_r = \mathrm{softmax}\big(((n + 1 - 2r) s - \textstyle\sum_m |s - s_m|) / \tau\big)

    Time grows with k times the length of a list (its square without k) where scores lie close, as at the
    start of training, memory with its length. A list above 22,000 documents needs k.

    >>> PiRank(temperature=0.1)([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).value.round(4)  # NDCG is 0.7967
    array([0.2033])
    """

    temperature: float = 1.0
    k: int | None = None
    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature)
        at_least_one(self, k=self.k)
        check_gain(self, self.gain)

    @property
    def smooth(self) -> bool:
        return False  # corners of |s_j - s_m| at equal scores

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        if min(lists.longest, self.k or lists.longest) * lists.longest > MOST:
            raise ValueError(
                f"PiRank sorts a list for each of its first k ranks, and a list has {lists.longest:,} "
                f"documents; pass k=100 (at most {MOST // lists.longest:,})"
            )
        return neural_sort_loss(lists, self.gain, temperature=self.temperature, k=self.k)
