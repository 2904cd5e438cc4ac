"""The verdict of an A/B experiment: click rates of two arms, by person."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ab_verdict", "always_valid_difference"]

PRIOR = 0.05  # the size of difference in click rate that is expected
RESAMPLES = 2000


def ab_verdict(
    clicked: ArrayLike,
    clicked_first: ArrayLike,
    in_a: ArrayLike,
    users: Sequence[str],
    *,
    names: tuple[str, str] = ("a", "b"),
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Share of pages with a click, and with a click at rank 1, in both arms; intervals resample people.

    `verdict` holds for one look; `always_valid` may be looked at every day.

    >>> told = ab_verdict([1, 1, 1, 0] * 50, [0] * 200, [1, 1, 0, 0] * 50, [f"u{i}" for i in range(200)])
    >>> told["verdict"]["clicked"]["difference"], told["verdict"]["winner"]
    (0.5, 'a')
    """
    arm = np.asarray(in_a, bool)
    if arm.all() or not arm.any():
        return {}
    who: NDArray[np.int64] = np.unique(np.asarray(users), return_inverse=True)[1]
    told: dict[str, Any] = {"names": list(names), "pages": [int(arm.sum()), int((~arm).sum())]}
    bounds = {}
    for name, outcome in (("clicked", clicked), ("clicked_first", clicked_first)):
        values = np.asarray(outcome, np.float64)
        means, errors = zip(*(_clustered(values[one], who[one]) for one in (arm, ~arm)), strict=True)
        difference = means[0] - means[1]
        low, high = _bootstrap(values, arm, who, confidence, seed)
        told[name] = {"rates": list(means), "difference": difference, "low": low, "high": high}
        bounds[name] = always_valid_difference(
            difference, errors[0] ** 2 + errors[1] ** 2, error=1 - confidence
        )
    first = told["clicked"]
    told["winner"] = names[0] if first["low"] > 0 else names[1] if first["high"] < 0 else None
    bound = bounds["clicked"]
    bounds["decided"] = bound["low"] > 0 or bound["high"] < 0
    return {"verdict": told, "always_valid": bounds}


def always_valid_difference(
    difference: float, variance: float, *, error: float = 0.05, prior: float = PRIOR
) -> dict[str, Any]:
    r"""An interval and a p-value for a difference of means that hold at every look (Johari et al., 2017).

    The mixture of normal likelihood ratios over differences of variance :math:`\tau^2` (`prior` squared)

    .. math:: \Lambda = \sqrt{\frac{V}{V + \tau^2}} \exp \frac{\tau^2 d^2}{2 V (V + \tau^2)}

    stays below 1 / error at all times with probability 1 - error if there is no difference.

    >>> told = always_valid_difference(0.1, 0.02**2)
    >>> round(told["low"], 3), round(told["high"], 3)
    (0.039, 0.161)
    """
    variance, spread = max(variance, 1e-12), prior**2
    both = variance + spread
    log_ratio = 0.5 * np.log(variance / both) + spread * difference**2 / (2 * variance * both)
    half = np.sqrt(variance * both / spread * (np.log(both / variance) - 2 * np.log(error)))
    return {
        "p_value": float(min(1.0, np.exp(-log_ratio))),
        "low": float(difference - half),
        "high": float(difference + half),
    }


def _clustered(values: NDArray[np.float64], who: NDArray[np.int64]) -> tuple[float, float]:
    """The mean over pages and its standard error, with people as the independent units."""
    mean = float(values.mean())
    people, at = np.unique(who, return_inverse=True)
    sums = np.bincount(at, values - mean, minlength=len(people))
    scale = len(people) / max(len(people) - 1, 1)
    return mean, float(np.sqrt(scale * (sums**2).sum())) / len(values)


def _bootstrap(
    values: NDArray[np.float64],
    arm: NDArray[np.bool_],
    who: NDArray[np.int64],
    confidence: float,
    seed: int,
) -> tuple[float, float]:
    """The interval of the difference when people are drawn again."""
    random = np.random.default_rng(seed)
    sides = []
    for one in (arm, ~arm):
        people, at = np.unique(who[one], return_inverse=True)
        sums = np.bincount(at, values[one], minlength=len(people))
        pages = np.bincount(at, minlength=len(people))
        kinds, count = np.unique(np.column_stack([sums, pages]), axis=0, return_counts=True)
        drawn = random.multinomial(int(count.sum()), count / count.sum(), size=RESAMPLES)
        sides.append((drawn @ kinds[:, 0]) / (drawn @ kinds[:, 1]))
    tail = (1 - confidence) / 2
    low, high = np.quantile(sides[0] - sides[1], [tail, 1 - tail])
    return float(low), float(high)
