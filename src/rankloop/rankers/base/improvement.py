"""How far settings that were not tried are expected to improve on those that were."""

import numpy as np
from scipy.special import ndtr

from rankloop._arrays import Floats

__all__ = ["expected_improvement"]

MODELS = 32  # drawn length scales and noises, weighed by how well they explain the values
LENGTH = 0.8  # of a range: the length scale over which values change
SPREAD = 0.7  # of the logarithm of the length scales that are drawn
NOISE = 0.1  # of the variance: what neighbours differ by
ALONE = 0.8  # of the variance comes from each parameter alone, the rest from all together
LOWEST = 2.0  # times the distance of the best from the median: how far below the median a value counts


def expected_improvement(apart: Floats, values: Floats, reach: Floats, rng: np.random.Generator) -> Floats:
    r"""The mean of \( \max(0, f - f_{best}) \) for candidates, by Gaussian processes (Jones et al., 1998).

    `apart` is the distance of each two tried settings in each parameter, `reach` that of each candidate from
    each tried setting, as shares of the ranges; higher `values` are better.

    >>> tried, candidates = np.array([0.0, 0.3, 0.6, 1.0]), np.array([0.1, 0.45, 0.9])
    >>> apart, reach = (np.abs(one[:, None, None] - tried[:, None]) for one in (tried, candidates))
    >>> found = expected_improvement(apart, -((tried - 0.45) ** 2), reach, np.random.default_rng(0))
    >>> int(found.argmax())
    1
    """
    count, parameters = apart.shape[1:]
    middle = float(np.median(values))
    y = np.maximum(values, middle - LOWEST * (values.max() - middle))
    y = (y - y.mean()) / (y.std() or 1.0)
    lengths = np.exp(rng.normal(np.log(LENGTH), SPREAD, (MODELS, parameters)))
    noises = np.exp(rng.normal(np.log(NOISE), 1.0, MODELS))
    fits = []
    for length, noise in zip(lengths, noises, strict=True):
        root = np.linalg.cholesky(_covariance(apart, length) + noise * np.eye(count))
        half = np.linalg.solve(root, y)
        scale = max(float(half @ half) / count, 1e-6)
        evidence = -0.5 * count * np.log(scale) - np.log(np.diagonal(root)).sum()
        fits.append((float(evidence), length, noise, root, half, scale))
    best = max(one[0] for one in fits)
    found = np.zeros(len(reach))
    for evidence, length, noise, root, half, scale in fits:
        weight = np.exp(evidence - best)
        if weight > 1e-3:
            part = np.linalg.solve(root, _covariance(reach, length).T)
            left = np.maximum(1.0 - (part**2).sum(axis=0), 0.0)
            deviation = np.sqrt(scale * (left + noise))
            above = (half @ part - y.max()) / deviation
            found += weight * deviation * (above * ndtr(above) + np.exp(-(above**2) / 2) / np.sqrt(2 * np.pi))
    return found


def _covariance(apart: Floats, length: Floats) -> Floats:
    """Matérn's with 5/2, of each parameter alone and of all."""
    scaled = np.sqrt(5.0) * apart / length
    alone: Floats = _matern(scaled).mean(axis=-1)
    return ALONE * alone + (1 - ALONE) * _matern(np.sqrt((scaled**2).sum(axis=-1)))


def _matern(r: Floats) -> Floats:
    found: Floats = (1 + r + r * r / 3) * np.exp(-r)
    return found
