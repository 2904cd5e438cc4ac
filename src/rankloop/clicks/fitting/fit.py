"""Fitting: EM on expected counts, or L-BFGS on the exact likelihood with the same counts as gradient."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from rankloop._arrays import Bools, Floats, Singles
from rankloop._progress import progress
from rankloop.clicks.fitting.expect import Counts
from rankloop.clicks.fitting.kin import Centres
from rankloop.clicks.fitting.parameters import ByFeatures, scaled

__all__ = ["Problem", "Values", "em", "gradient", "improved", "pooled"]

Values = dict[str, Floats]
Pseudo = float | Floats


@dataclass(eq=False)
class Problem:
    """A model on a log: its probabilities, their starting values, and the expected counts.

    `prior` holds pseudo-counts (successes, failures) by parameter, one for all or one per entry; `held` marks
    entries that are fixed; `alike` are better values to start from where documents are shrunk together.
    """

    start: Values
    expect: Callable[[Values], tuple[float, Counts]]
    prior: dict[str, tuple[Pseudo, Pseudo]]
    impressions: int
    held: dict[str, Bools] = field(default_factory=dict)
    alike: Values = field(default_factory=dict)  # of what documents share: the best if all were the same
    centres: dict[str, Centres] = field(default_factory=dict)  # of priors that were estimated
    check: Callable[[Values], None] = lambda values: None  # warns of fitted values that should be known

    def centre(self, name: str) -> float:
        """The centre of the prior of a parameter; its starting value where it has none."""
        yes, no = self.prior[name]
        total = float(np.mean(yes) + np.mean(no))
        return float(np.mean(yes)) / total if total > 0 else float(self.start[name].mean())

    def penalised(self, values: Values) -> tuple[float, Counts]:
        """Log-likelihood plus log-prior, and the counts with the prior's in them."""
        value, counts = self.expect(values)
        for name in self.start:
            yes, no = self.prior.get(name, (0.0, 0.0))
            free = ~self.held[name] if name in self.held else np.ones(len(values[name]), bool)
            p = values[name]
            value += float(np.sum(xlogy(yes, p)[free]) + np.sum(xlog1py(no, -p)[free]))
        return value, self.with_prior(counts)

    def with_prior(self, counts: Counts) -> Counts:
        found: Counts = {}
        for name in self.start:
            successes, trials = counts[name]
            yes, no = self.prior.get(name, (0.0, 0.0))
            found[name] = successes + yes, trials + yes + no
        return found


def pooled(problem: Problem, names: list[str], iterations: int = 5) -> dict[str, float]:
    """For each parameter the best single value for all entries, with the others at their start."""
    values = dict(problem.start)
    found: dict[str, float] = {}
    for _ in range(iterations if names else 0):
        _, counts = problem.expect(values)
        for name in names:
            successes, trials = counts[name]
            share = float(successes.sum()) / max(float(trials.sum()), 1e-12)
            found[name] = min(max(share, 0.001), 0.999)
            values[name] = np.full(len(problem.start[name]), found[name])
    return found


def em(problem: Problem, iterations: int, tolerance: float) -> tuple[Values, list[float]]:
    """Probabilities, and the penalised log-likelihood of every iteration; it never falls."""
    values = {name: start.copy() for name, start in problem.start.items()}
    history: list[float] = []
    with progress("fitting", iterations) as advance:
        for _ in range(iterations):
            value, counts = problem.penalised(values)
            history.append(value)
            advance(1, f"log-likelihood {value / max(problem.impressions, 1):.6f}")
            if len(history) > 1 and value - history[-2] <= tolerance * problem.impressions:
                break
            values = improved(problem, values, counts)
    return values, history


def improved(problem: Problem, values: Values, counts: Counts) -> Values:
    """The M step: successes over trials, but for what is held."""
    new: Values = {}
    for name, (successes, trials) in counts.items():
        share = np.divide(successes, trials, out=values[name].copy(), where=trials > 0)
        if name in problem.held:
            share[problem.held[name]] = values[name][problem.held[name]]
        new[name] = np.clip(share, 0.0, 1.0)
    return new


def gradient(
    problem: Problem, iterations: int, tolerance: float, features: dict[str, Singles], l2: float
) -> tuple[Values, dict[str, ByFeatures], list[float]]:
    """The same maximum by L-BFGS in logits; `features` (one row per entry) makes a parameter linear."""
    from scipy.optimize import minimize

    inputs, shape = _design(features)
    # One vector for the optimiser: for each parameter the logits of its free entries, or weights of features.
    parts, free, point = {}, {}, []
    at = 0
    for name, start in problem.start.items():
        held = problem.held.get(name)
        free[name] = np.ones(len(start), bool) if held is None else ~held
        first = logit(np.clip(start, 0.01, 0.99))
        if name in inputs:
            begin = np.append(np.zeros(inputs[name].shape[1]), float(np.mean(first)))
        else:
            begin = first[free[name]]
        parts[name] = slice(at, at + len(begin))
        point.append(begin)
        at += len(begin)

    def values_at(theta: Floats) -> Values:
        values = {}
        for name, start in problem.start.items():
            own = theta[parts[name]]
            if name in inputs:
                values[name] = expit(inputs[name] @ own[:-1] + own[-1])
            else:
                values[name] = start.copy()
                values[name][free[name]] = expit(own)
        return values

    # Per impression, so that one tolerance suits logs of any size. The expected counts give the gradient:
    # in logits it is successes - trials * probability, as in a logistic regression.
    history: list[float] = []
    scale = 1.0 / max(problem.impressions, 1)

    def objective(theta: Floats) -> tuple[float, Floats]:
        values = values_at(theta)
        value, counts = problem.penalised(values)
        slope = np.empty_like(theta)
        for name, (successes, trials) in counts.items():
            residual = successes - trials * values[name]
            if name in inputs:
                weights = theta[parts[name]][:-1]
                value -= 0.5 * l2 * problem.impressions * float(weights @ weights)
                down = inputs[name].T @ residual - l2 * problem.impressions * weights
                slope[parts[name]] = np.append(down, residual.sum())
            else:
                slope[parts[name]] = residual[free[name]]
        return -value * scale, -slope * scale

    theta = np.concatenate(point)
    done: Any = minimize(
        objective,
        theta,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": tolerance * 1e-3, "gtol": 1e-9},
        callback=lambda intermediate_result: history.append(-float(intermediate_result.fun) / scale),
    )
    fitted = {
        name: ByFeatures(done.x[part][:-1], float(done.x[part][-1]), *shape[name])
        for name, part in parts.items()
        if name in inputs
    }
    return values_at(done.x), fitted, history


def _design(features: dict[str, Singles]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Standardised features, and their means and scales."""
    inputs: dict[str, Any] = {}
    shape: dict[str, Any] = {}
    for name, X in features.items():
        known = np.isfinite(X)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, X, 0.0).sum(axis=0, dtype=np.float64) / count
        spread = np.sqrt(np.where(known, X - mean, 0.0).__pow__(2).sum(axis=0) / count)
        spread = np.where(spread > 0, spread, 1.0)
        inputs[name], shape[name] = scaled(X, mean, spread), (mean, spread)
    return inputs, shape
