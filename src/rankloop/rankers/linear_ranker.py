"""A weighted sum of the features under any loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import block_diag, cho_solve, solve_triangular
from scipy.optimize import minimize

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.losses import Loss, loss, redraw, settle
from rankloop.metrics import Metric
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.scale import Standard, segment_sum

__all__ = ["LinearRanker"]

Risk = Callable[..., tuple[float, Floats]]  # of the weights and, for a loss with random draws, the iteration


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRanker(LinearScores):
    r"""Scores :math:`w \cdot x` on standardised features, under any loss, with an L2 penalty.

    .. math:: \min_w \frac{1}{Q} \sum_q \ell(X_q w, y_q) + \frac{\lambda}{2} |w|^2

    Pointwise losses get an intercept without penalty. The solver is L-BFGS. Its line search stalls where the
    gradient is not the derivative of one smooth function (LambdaRank and its relatives), or where the loss
    draws new random numbers in each iteration: full-batch AdaGrad (Duchi et al., 2011) then continues and
    keeps the weights that were best by `metric`, on the validation set or else on the training set.
    `solver="lbfgs"` or `"adagrad"` sets the solver by hand.

    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> LinearRanker(loss="ranknet").fit(X, y, qid=qid).rank(X)
    array([0, 2, 1])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})

    loss: str | Loss = "ranknet"
    l2: float = 1e-3
    solver: str = "auto"
    metric: str | Metric = "ndcg@10"
    learning_rate: float = 0.1
    iterations: int = 500
    patience: int = 50
    tolerance: float = 1e-4

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if not self.l2 >= 0:
            raise ValueError(f"l2 must be 0 or more, got {self.l2}")
        chosen = settle(loss(self.loss), train.y)
        one_of("solver", self.solver, ("adagrad", "auto", "lbfgs"))
        standard = Standard.of(train.X)
        Z = standard.apply(train.X)
        start, spread = _least_squares(train, Z)
        penalised = np.ones(train.n_features)
        if chosen.pointwise:  # only these depend on the level of the scores
            Z = np.column_stack((Z, np.ones(len(Z))))
            start, penalised = np.append(start, train.y.mean()), np.append(penalised, 0.0)
            spread = block_diag(spread, 1.0)
        risk = _risk(chosen, train, Z, self.l2 * penalised)
        weights, n_iter = _lbfgs(risk, start, spread, self.iterations, self.tolerance)
        rough = not chosen.smooth or _draws(chosen, train)
        if self.solver == "adagrad" or (self.solver == "auto" and rough):
            objective, rows = Objective.of(self.metric, train), Z
            if valid is not None:
                objective, rows = Objective.of(self.metric, valid), standard.apply(valid.X)

            def quality(w: Floats) -> float:
                return objective(rows @ w[: rows.shape[1]])

            weights, further = self._adagrad(risk, weights, quality, str(objective.metric))
            n_iter += further
        level = float(weights[-1]) if chosen.pointwise else 0.0
        self._learned(weights[: train.n_features], standard, n_iter, level)

    def _adagrad(
        self, risk: Risk, start: Floats, quality: Callable[[Floats], float], name: str
    ) -> tuple[Floats, int]:
        weights, squares = start, np.zeros_like(start)
        rate = self.learning_rate / np.sqrt(
            len(start)
        )  # a step changes scores alike for any number of features
        best, best_quality, best_turn = weights, quality(weights), 0
        with progress("descending", total=self.iterations) as advance:
            for turn in range(1, self.iterations + 1):
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
    """Whether another iteration would give other values."""
    first = train.select(np.arange(min(train.n_queries, 20)))
    flat = np.zeros(first.n_documents)
    now, later = (one(flat, first.y, first.offsets).value for one in (chosen, redraw(chosen, 1)))
    return not np.array_equal(now, later)


def _lbfgs(
    risk: Risk, start: Floats, spread: Floats, iterations: int, tolerance: float
) -> tuple[Floats, int]:
    """L-BFGS until the largest slope is `tolerance` times that at zero weights.

    It works on `spread.T @ w`, the weights of features that are decorrelated within lists: raw features are
    strongly correlated, and convergence on them is slow.
    """

    def rotated(u: Floats) -> tuple[float, Floats]:
        value, gradient = risk(solve_triangular(spread, u, lower=True, trans="T"))
        return value, solve_triangular(spread, gradient, lower=True)

    steepest = float(np.abs(rotated(np.zeros_like(start))[1]).max(initial=0.0))
    options = {
        "maxiter": iterations,
        "maxfun": 5 * iterations,
        "gtol": tolerance * max(steepest, 1e-12),
        "ftol": 1e-15,
    }
    done = minimize(rotated, spread.T @ start, jac=True, method="L-BFGS-B", options=options)
    return solve_triangular(spread, done.x, lower=True, trans="T"), int(done.nit)


def _least_squares(train: RankingDataset, Z: Floats) -> tuple[Floats, Floats]:
    """The start (least squares within lists) and the Cholesky root of the covariance within lists."""
    lengths = train.lengths
    inner = Z - np.repeat(segment_sum(Z, train.offsets) / lengths[:, None], lengths, axis=0)
    gram = inner.T @ inner / len(Z) + 1e-3 * np.eye(Z.shape[1])
    root = np.asarray(np.linalg.cholesky(gram), np.float64)
    return cho_solve((root, True), inner.T @ train.y.astype(np.float64) / len(Z)), root
