"""The weighted sum of several rankers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.base.parts import RankerOfRankers
from rankloop.rankers.base.per_list import NORMS, normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Ensemble"]


@dataclass(kw_only=True, eq=False, repr=False)
class Ensemble(RankerOfRankers):
    r"""The sum of the scores of several rankers, put on one scale within each list.

    .. math:: s(x) = \sum_m w_m \, \mathrm{norm}_q(s_m(x))

    Fitted rankers need no further `fit`; `Fusion(method="learned")` also learns the weights.

    >>> from rankloop.rankers import RankSVM
    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> parts = [RankSVM(C=C).fit(X, y, qid=qid) for C in (1.0, 10.0)]
    >>> Ensemble(parts).rank(X)
    array([0, 2, 1])
    """

    rankers: Sequence[Ranker] = field(default=(), kw_only=False)
    weights: Sequence[float] | None = None
    norm: str = "zscore"
    prefit: bool = False

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("norm", self.norm, NORMS)
        self._weights()
        self.rankers_ = self._fitted_parts(train, valid)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        total = np.zeros(len(X))
        for weight, scores in zip(self._weights(), self._part_scores(X, offsets), strict=True):
            total += weight * normalised(scores, offsets, self.norm)
        return total

    def _weights(self) -> Floats:
        weights = np.ones(len(self.rankers)) if self.weights is None else np.asarray(self.weights, np.float64)
        if weights.shape != (len(self.rankers),) or not np.all(np.isfinite(weights)):
            raise ValueError(
                f"weights needs one finite number per ranker ({len(self.rankers)}), got {self.weights}"
            )
        return weights
