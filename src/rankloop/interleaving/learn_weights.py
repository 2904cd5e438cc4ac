"""Weights of click features that lower the variance of a verdict."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats

__all__ = ["learn_weights"]


def learn_weights(contrasts: ArrayLike, *, ridge: float = 1e-3) -> Floats:
    r"""Weights of click features that need the fewest pages to find a difference (Yue et al., 2010).

    `contrasts` has one row per page: feature totals of the first ranker's clicks less those of the second's
    (`click_contrasts`, or your own: dwell-satisfied clicks, ...), from experiments whose winner is known to
    be the first. The inverse Hotelling weights :math:`w \propto \Sigma^{-1} \mu` maximise mean over standard
    deviation. Apply them to a new experiment, `contrasts @ weights`: on the pages that they were learned from
    they overstate the difference.

    >>> random = np.random.default_rng(0)
    >>> signal = random.normal(0.5, 1.0, 4000)
    >>> noise = random.normal(0.0, 5.0, 4000)
    >>> learn_weights(np.column_stack([signal, noise])).round(2)
    array([0.99, 0.01])
    """
    table = _table(contrasts)
    mean = table.mean(axis=0)
    spread = np.atleast_2d(np.cov(table, rowvar=False, bias=True))
    spread = spread + ridge * np.trace(spread) / len(mean) * np.eye(len(mean))
    weights = np.linalg.solve(spread, mean)
    size = np.abs(weights).sum()
    if size == 0:
        raise ValueError("the contrasts have mean zero: there is no preference to learn from")
    normal: Floats = weights / size
    return normal


def _table(contrasts: ArrayLike) -> Floats:
    table = np.asarray(contrasts, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"contrasts need pages × features and at least two pages, got shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("contrasts must be finite")
    return table
