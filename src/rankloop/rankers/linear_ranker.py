"""A weighted sum of the features under any loss."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_solve, solve_triangular
from scipy.optimize import minimize

from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.losses import Loss, loss, redraw, settle
from rankloop.metrics import Metric
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.scale import Standard, segment_sum

__all__ = ["LinearRanker"]

Floats = NDArray[np.float64]
Risk = Callable[..., tuple[float, Floats]]  # of the weights and, where the loss draws, of the round


class LinearRanker(LinearScores):
    r"""Scores :math:`w \cdot x` on standardised features, under any loss, with an L2 penalty.

    .. math:: \min_w \frac{1}{Q} \sum_q \ell(X_q w, y_q) + \frac{\lambda}{2} |w|^2

    Pointwise losses get an intercept, free of the penalty. L-BFGS does the work. Where the gradient is no
    derivative of one smooth function (LambdaRank and its kin) its line search stalls: full-batch AdaGrad
    (Duchi et al., 2011) goes on from there and keeps the weights that were best by `metric`, on the
    validation set or else on the training set. So it does for losses that draw at random, anew in every
    round. `solver="lbfgs"` and `"adagrad"` end that choice.

    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> LinearRanker(loss="ranknet").fit(X, y, qid=qid).rank(X)
    array([0, 2, 1])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})

    def __init__(
        self,
        *,
        loss: str | Loss = "ranknet",
        l2: float = 1e-3,
        solver: str = "auto",
        metric: str | Metric = "ndcg@10",
        learning_rate: float = 0.1,
        max_iter: int = 500,
        patience: int = 50,
        tol: float = 1e-4,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.solver = solver
        self.metric = metric
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience
        self.tol = tol

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if not self.l2 >= 0:
            raise ValueError(f"l2 must be 0 or more, got {self.l2}")
        chosen = settle(loss(self.loss), train.y)
        one_of("solver", self.solver, ("adagrad", "auto", "lbfgs"))
        standard = Standard.of(train.X)
        Z = standard.apply(train.X)
        start, spread = _least_squares(train, Z)
        held = np.ones(train.n_features)
        if chosen.pointwise:  # only these see the level of the scores
            Z = np.column_stack((Z, np.ones(len(Z))))
            start, held = np.append(start, train.y.mean()), np.append(held, 0.0)
            spread = block_diag(spread, 1.0)
        risk = _risk(chosen, train, Z, self.l2 * held)
        weights, n_iter = _lbfgs(risk, start, spread, self.max_iter, self.tol)
        rough = not chosen.smooth or _draws(chosen, train)
        if self.solver == "adagrad" or (self.solver == "auto" and rough):
            judged, judged_Z = Objective.of(self.metric, train), Z
            if valid is not None:
                judged, judged_Z = Objective.of(self.metric, valid), standard.apply(valid.X)

            def quality(w: Floats) -> float:
                return judged(judged_Z @ w[: judged_Z.shape[1]])

            weights, further = self._adagrad(risk, weights, quality, str(judged.metric))
            n_iter += further
        level = float(weights[-1]) if chosen.pointwise else 0.0
        self._learned(weights[: train.n_features], standard, n_iter, level)

    def _adagrad(
        self, risk: Risk, start: Floats, quality: Callable[[Floats], float], name: str
    ) -> tuple[Floats, int]:
        weights, squares = start, np.zeros_like(start)
        rate = self.learning_rate / np.sqrt(len(start))  # what a step moves the scores by, for any width
        best, best_quality, best_turn = weights, quality(weights), 0
        with progress("descending", total=self.max_iter) as advance:
            for turn in range(1, self.max_iter + 1):
                _, gradient = risk(weights, turn)
                squares += gradient**2
                weights = weights - rate * gradient / np.sqrt(np.maximum(squares, 1e-300))
                reached = quality(weights)
                advance(1, f"{name} {abs(reached):.4f}")
                if reached > best_quality:
                    best, best_quality, best_turn = weights, reached, turn
                elif turn - best_turn >= self.patience:
                    break
        return best, best_turn


def _risk(chosen: Loss, train: RankingDataset, Z: Floats, l2: Floats) -> Risk:
    """The mean loss of a list and its gradient by the weights, the penalty included."""
    lists = float(train.n_queries if train.query_weight is None else train.query_weight.sum())

    def risk(w: Floats, turn: int = 0) -> tuple[float, Floats]:
        found = (redraw(chosen, turn) if turn else chosen)(
            Z @ w,
            train.y,
            train.offsets,
            weight=train.item_weight,
            query_weight=train.query_weight,
            pairs=train.pairs,
        )
        value = found.value.sum() / lists + 0.5 * (l2 @ w**2)
        return float(value), Z.T @ found.gradient / lists + l2 * w

    return risk


def _draws(chosen: Loss, train: RankingDataset) -> bool:
    """Whether another round would give other values."""
    first = train.select(np.arange(min(train.n_queries, 20)))
    flat = np.zeros(first.n_documents)
    now, later = (one(flat, first.y, first.offsets).value for one in (chosen, redraw(chosen, 1)))
    return not np.array_equal(now, later)


def _lbfgs(risk: Risk, start: Floats, spread: Floats, max_iter: int, tol: float) -> tuple[Floats, int]:
    """L-BFGS until the steepest slope is `tol` times that at zero weights.

    It works on weights of features without correlation within lists, `spread.T @ w`: on those of raw
    features, which say the same many times over, it would creep.
    """

    def rotated(u: Floats) -> tuple[float, Floats]:
        value, gradient = risk(solve_triangular(spread, u, lower=True, trans="T"))
        return value, solve_triangular(spread, gradient, lower=True)

    steepest = float(np.abs(rotated(np.zeros_like(start))[1]).max(initial=0.0))
    options = {"maxiter": max_iter, "maxfun": 5 * max_iter, "gtol": tol * max(steepest, 1e-12), "ftol": 1e-15}
    done = minimize(rotated, spread.T @ start, jac=True, method="L-BFGS-B", options=options)
    return solve_triangular(spread, done.x, lower=True, trans="T"), int(done.nit)


def _least_squares(train: RankingDataset, Z: Floats) -> tuple[Floats, Floats]:
    """Where to start, least squares within lists, and the root of the covariance within lists."""
    lengths = train.lengths
    inner = Z - np.repeat(segment_sum(Z, train.offsets) / lengths[:, None], lengths, axis=0)
    gram = inner.T @ inner / len(Z) + 1e-3 * np.eye(Z.shape[1])
    root = np.asarray(np.linalg.cholesky(gram), np.float64)
    return cho_solve((root, True), inner.T @ train.y.astype(np.float64) / len(Z)), root
