"""The ranking support vector machine, and its form for clicks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.losses.kernels.pair_sums import levels
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.row_weight import row_weight
from rankloop.rankers.base.scale import Standard
from rankloop.rankers.svm.cutting_plane import cutting_plane
from rankloop.rankers.svm.explicit_hinge import ExplicitHinge
from rankloop.rankers.svm.hinge import HingeProblem, LabelHinge

__all__ = ["RankSVM"]


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVM(LinearScores):
    r"""Linear scores with a margin between the documents of a pair (Joachims 2002; Lee & Lin 2014).

    .. math:: \min_w \tfrac12 |w|^2 + \frac{C}{n} \sum_{q} \sum_{i \succ j} v_i \, h(w \cdot (x_i - x_j)),
        \qquad h(z) = \max(0, 1 - z) \text{ or its square}

    over the n lists, with `v` the item weight of the better document (times the query's weight). Sums over
    pairs take O(n log n). `against="lower"` pairs documents of different labels; explicit `pairs` of the data
    set replace those, one with probability p as p of one order and 1 - p of the other. With `against="all"`
    each document with a label above 0 is paired with every other one of its list: on clicks weighted by
    1 / propensity this is PropSVMRank (Joachims, Swaminathan & Schnabel 2017), a bound on the unbiased rank.

    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> RankSVM(C=100.0).fit(X, y, qid=qid).rank(X)
    array([0, 2, 1])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})

    C: float = 1.0
    loss: str = "squared_hinge"
    against: str = "lower"
    tolerance: float = 1e-4
    iterations: int = 1000

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("loss of RankSVM", self.loss, ("hinge", "squared_hinge"))
        one_of("against", self.against, ("all", "lower"))
        if not self.C > 0:
            raise ValueError(f"C must be above 0, got {self.C}")
        standard = Standard.of(train.X)
        lists = train.n_queries if train.query_weight is None else float(train.query_weight.sum())
        weight = row_weight(train) * (self.C / max(lists, 1e-300))
        problem = _problem(train, standard.apply(train.X), weight, self.against)
        if self.loss == "hinge":
            coef, n_iter = cutting_plane(problem, tolerance=self.tolerance, iterations=self.iterations)
        else:
            coef, n_iter = _newton(problem, self.tolerance, self.iterations)
        self._learned(coef, standard, n_iter)


def _problem(train: RankingDataset, Z: Floats, weight: Floats, against: str) -> HingeProblem:
    """The explicit pairs of the data set where it has some, else those of the labels."""
    pairs = train.pairs
    if pairs is not None:
        if against == "all":
            raise ValueError(
                "against='all' takes pairs from labels, but this data set has explicit pairs; leave it out"
            )
        chance = pairs.probability.astype(np.float64)
        better = np.concatenate((pairs.better, pairs.worse))
        share = np.concatenate((chance * pairs.weight, (1.0 - chance) * pairs.weight))
        return ExplicitHinge(Z, better, np.concatenate((pairs.worse, pairs.better)), share * weight[better])
    if against == "all":
        above, below = (train.y > 0).astype(np.int64), np.zeros(train.n_documents, np.int64)
    else:
        above = below = levels(train.y, train.offsets)
    return LabelHinge(Z, above, below, weight, train.offsets)


def _newton(problem: HingeProblem, tolerance: float, iterations: int) -> tuple[Floats, int]:
    """Truncated Newton with a trust region: the squared hinge is smooth, its Hessian a sum over pairs."""
    zero = np.zeros(problem.Z.shape[1])
    start = np.linalg.norm(problem.squared(zero)[1])
    done = minimize(
        problem.squared,
        zero,
        jac=True,
        hessp=problem.hessian,
        method="trust-ncg",
        options={"gtol": tolerance * max(float(start), 1e-300), "maxiter": iterations},
    )
    return done.x, int(done.nit)
