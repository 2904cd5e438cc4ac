"""Cohen's weighted kappa of two raters."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop.metrics.results.agreement import Agreement, grades_of, with_interval

__all__ = ["weighted_kappa"]

_POWERS = {"quadratic": 2.0, "linear": 1.0, "none": 0.0}


def weighted_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: str = "quadratic",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    r"""The agreement of two raters beyond chance (Cohen, 1968), with a bootstrap interval over items.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} o_{ij}}{\sum_{ij} w_{ij} e_{ij}}, \quad w_{ij} = |i - j|^p

    with the shares :math:`o` of pairs of grades that were given and :math:`e` of those that two raters with
    the same habits would give by chance. `weights` are "quadratic" (p = 2), "linear", or "none" (every
    difference counts alike). Both give one grade per item; items with a nan are left out.

    >>> weighted_kappa([0, 1, 2, 3, 3, 0], [0, 1, 3, 3, 2, 0]).value.__round__(4)
    0.8947
    """
    power = _POWERS[one_of("weights", weights, _POWERS)]
    one, two = (np.asarray(given, np.float64).ravel() for given in (first, second))
    if one.shape != two.shape:
        raise ValueError(f"both raters grade the same items, got {len(one)} and {len(two)} grades")
    both = ~(np.isnan(one) | np.isnan(two))
    one, two = one[both], two[both]
    grades = grades_of(np.concatenate([one, two]))
    size = len(grades)
    places = np.searchsorted(grades, one) * size + np.searchsorted(grades, two)
    table = np.bincount(places, minlength=size * size)
    apart = np.abs(grades[:, None] - grades)
    cost = apart**power if power else (apart > 0).astype(np.float64)
    low, high = with_interval(
        lambda drawn: _parts(drawn.reshape(size, size), cost)[0],
        table,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    value, observed, expected = _parts(table.reshape(size, size), cost)
    rates = (table.reshape(size, size).sum(0) + table.reshape(size, size).sum(1)) / max(2 * len(one), 1)
    shares = dict(zip(grades.tolist(), rates.tolist(), strict=True))
    return Agreement(value, low, high, observed, expected, len(one), 2, shares, confidence)


def _parts(table: Ints, cost: Floats) -> tuple[float, float, float]:
    """Kappa, the agreement that was observed, and that of chance."""
    total = table.sum()
    if not total:
        return float("nan"), float("nan"), float("nan")
    given = table / total
    chance = given.sum(1)[:, None] * given.sum(0)
    most = max(float(cost.max()), 1e-300)
    wrong, by_chance = float((cost * given).sum()), float((cost * chance).sum())
    value = 1 - wrong / by_chance if by_chance > 0 else float("nan")
    return value, 1 - wrong / most, 1 - by_chance / most
