"""Weights of several scores, by clicks alone."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rankloop._arrays import Floats
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["Clicked", "agreement", "curve_of_stack", "scale_of"]

MOST = 0.95  # of the documents that are not relevant are clicked for trust, at most
LOWEST = -8.0  # the logarithm of the least examination


class Clicked(NamedTuple):
    """What makes the clicks most likely; `cost` is minus the mean log-likelihood of an impression."""

    curve: Floats
    trust: Floats
    weights: Floats
    level: float
    cost: float


def scale_of(scores: Floats, seen: Evidence) -> Floats:
    """The spread of each column within the shown documents of a query."""
    centred = _centred(scores, seen)
    return np.asarray(np.maximum(np.sqrt((centred**2).mean(axis=0)), 1e-9), np.float64)


def curve_of_stack(z: Floats, seen: Evidence, *, curve: bool = True, trust: bool = False) -> Clicked:
    r"""Maximise the likelihood of :math:`\theta_k (\epsilon_k + (1 - \epsilon_k) \sigma(a + z w))`, w >= 0.

    Without `curve` :math:`\theta` is the slope of the evidence, whose floor stays as it is; epsilon is fitted
    with `trust`, else it is 0.
    """
    depth = int(seen.position.max())
    rank = seen.position.astype(np.int64) - 1
    Z, n, c = z[seen.row], seen.impressions, seen.clicks
    total = n.sum()
    ranks, believed = depth - 1 if curve else 0, depth if trust else 0
    kept = 0.0 if curve else seen.beta

    def cost(p: Floats) -> tuple[float, Floats]:
        steps, doubt, (level, *_), w = np.split(p, [ranks, ranks + believed, ranks + believed + 1])
        relevance = expit(level + Z @ w)
        theta = np.exp(np.append(0.0, steps))[rank] if curve else seen.alpha
        floor = doubt[rank] if believed else np.zeros(len(rank))
        alpha = theta * (1 - floor)
        chance = np.clip(alpha * relevance + theta * floor + kept, 1e-9, 1 - 1e-9)
        value = -(c * np.log(chance) + (n - c) * np.log1p(-chance)).sum()
        slope = (n * chance - c) / (chance * (1 - chance))  # by the chance
        inner = slope * alpha * relevance * (1 - relevance)
        by_rank = np.bincount(rank, slope * chance, depth)[1:] if curve else np.empty(0)
        by_trust = np.bincount(rank, slope * theta * (1 - relevance), depth) if believed else np.empty(0)
        return value / total, np.concatenate((by_rank, by_trust, [inner.sum()], inner @ Z)) / total

    columns = z.shape[1]
    start = np.concatenate(
        (
            -0.5 * np.log(np.arange(2.0, ranks + 2)),
            np.full(believed, 0.05),
            [-1.0],
            np.full(columns, 1 / columns),
        )
    )
    bounds = [(LOWEST, 0.0)] * ranks + [(0.0, MOST)] * believed + [(-12.0, 12.0)] + [(0.0, None)] * columns
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500})
    steps, doubt, (level, *_), w = np.split(found.x, [ranks, ranks + believed, ranks + believed + 1])
    theta = np.exp(np.append(0.0, steps)) if curve else seen.curve()
    return Clicked(theta, doubt if believed else np.zeros(depth), w, float(level), float(found.fun))


def agreement(scores: Floats, seen: Evidence) -> float:
    """The correlation within queries of scores with the order shown, over the documents that were shown."""
    shown = np.maximum(seen.by_row(seen.impressions), 1.0)
    place = seen.by_row(seen.impressions * seen.position) / shown
    a, b = _centred(np.stack([scores, -place], axis=1), seen).T
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-12))


def _centred(scores: Floats, seen: Evidence) -> Floats:
    rows = np.flatnonzero(seen.shown)
    _, of = np.unique(seen.data.row_query[rows], return_inverse=True)
    many = np.bincount(of)
    some = scores[rows]
    mean = np.stack([np.bincount(of, column) / many for column in some.T], axis=1)
    return np.asarray(some - mean[of])
