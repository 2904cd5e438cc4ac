"""The ranking support vector machine, and its form for clicks."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.losses.kernels.pair_sums import levels
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.scale import Standard
from rankloop.rankers.svm.cutting_plane import cutting_plane
from rankloop.rankers.svm.hinge import HingeProblem
from rankloop.rankers.svm.judged_hinge import JudgedHinge

__all__ = ["RankSVM"]


class RankSVM(LinearScores):
    r"""Linear scores that keep the better document of a pair a margin ahead (Joachims 2002; Lee & Lin 2014).

    .. math:: \min_w \tfrac12 |w|^2 + \frac{C}{n} \sum_{q} \sum_{i \succ j} v_i \, h(w \cdot (x_i - x_j)),
        \qquad h(z) = \max(0, 1 - z) \text{ or its square}

    over the n lists, with `v` the item weight of the better document (times the query's weight). Sums over
    pairs take O(n log n). `against="lower"` pairs documents of different labels; explicit `pairs` of the data
    set replace those, one with probability p as p of one order and 1 - p of the other. With `against="all"`
    each document with a label above 0 is paired with every other one of its list: on clicks weighed by
    1 / propensity this is PropSVMRank (Joachims, Swaminathan & Schnabel 2017), a bound on the unbiased rank.

    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> RankSVM(C=100.0).fit(X, y, qid=qid).rank(X)
    array([0, 2, 1])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        against: str = "lower",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.loss = loss
        self.against = against
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("loss of RankSVM", self.loss, ("hinge", "squared_hinge"))
        one_of("against", self.against, ("all", "lower"))
        if not self.C > 0:
            raise ValueError(f"C must be above 0, got {self.C}")
        standard = Standard.of(train.X)
        lists = train.n_queries if train.query_weight is None else float(train.query_weight.sum())
        weight = np.full(train.n_documents, self.C / max(lists, 1e-300))
        if train.query_weight is not None:
            weight *= train.query_weight[train.row_query]
        if train.item_weight is not None:
            weight *= train.item_weight
        problem = _problem(train, standard.apply(train.X), weight, self.against)
        if self.loss == "hinge":
            coef, n_iter = cutting_plane(problem, tol=self.tol, max_iter=self.max_iter)
        else:
            coef, n_iter = _newton(problem, self.tol, self.max_iter)
        self._learned(coef, standard, n_iter)


def _problem(
    train: RankingDataset, Z: NDArray[np.float64], weight: NDArray[np.float64], against: str
) -> HingeProblem | JudgedHinge:
    """The pairs that judges named, where there are any; else those of the labels."""
    pairs = train.pairs
    if pairs is not None:
        if against == "all":
            raise ValueError(
                "against='all' takes pairs from labels, but this data set names its pairs; leave it out"
            )
        chance = pairs.probability.astype(np.float64)
        better = np.concatenate((pairs.better, pairs.worse))
        share = np.concatenate((chance * pairs.weight, (1.0 - chance) * pairs.weight))
        return JudgedHinge(Z, better, np.concatenate((pairs.worse, pairs.better)), share * weight[better])
    if against == "all":
        above, below = (train.y > 0).astype(np.int64), np.zeros(train.n_documents, np.int64)
    else:
        above = below = levels(train.y, train.offsets)
    return HingeProblem(Z, above, below, weight, train.offsets)


def _newton(
    problem: HingeProblem | JudgedHinge, tol: float, max_iter: int
) -> tuple[NDArray[np.float64], int]:
    """Truncated Newton with a trust region: the squared hinge is smooth, its Hessian a sum over pairs."""
    zero = np.zeros(problem.Z.shape[1])
    start = np.linalg.norm(problem.squared(zero)[1])
    done = minimize(
        problem.squared,
        zero,
        jac=True,
        hessp=problem.hessian,
        method="trust-ncg",
        options={"gtol": tol * max(float(start), 1e-300), "maxiter": max_iter},
    )
    return done.x, int(done.nit)
