"""How far settings are expected to improve on the best one, by what some reached on some folds."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from rankloop._arrays import Floats, Ints

__all__ = ["FoldModel"]

MODELS = 16  # drawn length scales and noises, weighed by how well they explain the values
LENGTH = 0.8  # of a range: the length scale over which values change
SPREAD = 0.7  # of the logarithm of the length scales that are drawn
ALONE = 0.8  # of the variance comes from each parameter alone, the rest from all together
# Variances, as shares of that which the parameters explain on all folds alike; each is drawn around these.
OF_FOLD = 0.5  # what the parameters explain on one fold
OF_SETTING = 0.3  # by which neighbours differ, on all folds alike
OF_FIT = 0.5  # by which neighbours differ on one fold
LEVEL = 1.0  # of the mean, and of that of each fold
LOWEST = 2.0  # times the distance of the best from the median: how far below the median a value counts
UNLIKELY = np.exp(-7.0)  # of the best model's weight: models below it are left out


class _Fitted(NamedTuple):
    weight: float
    length: Floats
    shares: tuple[float, float, float]  # of fold, of setting, of fit
    root: Floats
    half: Floats
    scale: float


class FoldModel:
    r"""Gaussian processes for \( v_{if} = m_f + g(x_i) + h_f(x_i) + a_i + e_{if} \), setting i on fold f.

    `apart` is the distance of each two settings in each parameter, as a share of its range; `at` and `fold`
    say which setting and which fold each of `values` belongs to; higher is better.

    >>> tried, candidates = np.array([0.0, 0.3, 0.6, 1.0]), np.array([0.1, 0.45, 0.9])
    >>> apart, reach = (np.abs(one[:, None, None] - tried[:, None]) for one in (tried, candidates))
    >>> at, fold = np.arange(4).repeat(2), np.tile([0, 1], 4)
    >>> values = -((tried[at] - 0.45) ** 2) + 0.01 * fold
    >>> model = FoldModel(apart, at, fold, values, 2, np.random.default_rng(0))
    >>> int(model.expected_improvement(reach, np.full(3, -1), values.max()).argmax())
    1
    """

    def __init__(
        self, apart: Floats, at: Ints, fold: Ints, values: Floats, folds: int, rng: np.random.Generator
    ) -> None:
        self.at, self.folds = at, folds
        middle = {one: float(np.median(values[fold == one])) for one in np.unique(fold).tolist()}
        self.level = float(np.mean([middle.get(one, np.mean([*middle.values()])) for one in range(folds)]))
        y = values - np.array([middle[one] for one in fold.tolist()])
        y = np.maximum(y, -LOWEST * y.max())
        self.unit = float(y.std()) or 1.0
        y = y / self.unit
        same_fold, same = fold[:, None] == fold, at[:, None] == at
        found = []
        for _ in range(MODELS):
            length = np.exp(rng.normal(np.log(LENGTH), SPREAD, apart.shape[2]))
            shares = np.array([OF_FOLD, OF_SETTING, OF_FIT]) * np.exp(rng.normal(0.0, 1.0, 3))
            of_fold, of_setting, of_fit = shares.tolist()
            smooth = _covariance(apart, length)[np.ix_(at, at)]
            covariance = smooth * (1 + of_fold * same_fold) + of_setting * same + LEVEL * (1 + same_fold)
            root = np.linalg.cholesky(covariance + of_fit * np.eye(len(y)))
            half = solve_triangular(root, y, lower=True)
            scale = max(float(half @ half) / len(y), 1e-6)
            evidence = -0.5 * len(y) * np.log(scale) - np.log(np.diagonal(root)).sum()
            found.append(_Fitted(float(evidence), length, (of_fold, of_setting, of_fit), root, half, scale))
        best = max(one.weight for one in found)
        weighed = [one._replace(weight=float(np.exp(one.weight - best))) for one in found]
        self.models = [one for one in weighed if one.weight > UNLIKELY]

    def expected_improvement(self, reach: Floats, own: Ints, best: float) -> Floats:
        r"""The mean of \( \max(0, \bar v - best) \) of candidates, for the mean value over all folds.

        `reach` is the distance of each candidate from each tried setting, `own` which of these it is itself,
        or -1: on the folds that it has, its value is known.
        """
        mine = own[:, None] == self.at
        total = np.zeros(len(reach))
        for one in self.models:
            of_fold, of_setting, of_fit = one.shares
            whole = 1 + of_fold / self.folds
            level = LEVEL * (1 + 1 / self.folds)
            known = _covariance(reach, one.length)[:, self.at] * whole + level
            known += mine * (of_setting + of_fit / self.folds)
            part = solve_triangular(one.root, known.T, lower=True)
            variance = whole + level + of_setting + of_fit / self.folds - (part**2).sum(axis=0)
            deviation = np.sqrt(np.maximum(variance, 1e-9) * one.scale) * self.unit
            above = ((one.half @ part) * self.unit + self.level - best) / deviation
            total += (
                one.weight * deviation * (above * ndtr(above) + np.exp(-(above**2) / 2) / np.sqrt(2 * np.pi))
            )
        return total / sum(one.weight for one in self.models)


def _covariance(apart: Floats, length: Floats) -> Floats:
    """Matérn's with 5/2, of each parameter alone and of all."""
    scaled = np.sqrt(5.0) * apart / length
    alone: Floats = _matern(scaled).mean(axis=-1)
    return ALONE * alone + (1 - ALONE) * _matern(np.sqrt((scaled**2).sum(axis=-1)))


def _matern(r: Floats) -> Floats:
    found: Floats = (1 + r + r * r / 3) * np.exp(-r)
    return found
