"""The verdict of an A/B experiment: one value per page in two arms, with people as the units."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.verdict import user_codes, user_means

__all__ = ["ABVerdict", "Bound", "ab_verdict", "always_valid_difference"]

PLANNED = 0.05
RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ABVerdict(Outcome):
    """Means of two arms and their difference; `low`, `high` and `p_value` hold at every look.

    `fixed_low` and `fixed_high` are a bootstrap interval, for one look at a time planned in advance.
    """

    pages: tuple[int, int]
    means: tuple[float, float]
    fixed_low: float
    fixed_high: float


def ab_verdict(
    values: ArrayLike,
    arms: Sequence[Any],
    users: Sequence[Any],
    *,
    confidence: float = 0.95,
    planned: float | None = None,
    names: tuple[Any, Any] | None = None,
    seed: int = 0,
) -> ABVerdict:
    """Compare the mean value per page of two arms, from the value, arm and person of each page.

    `names` are the arms in the order of the difference, first minus second; by default sorted. `planned` is
    the size of difference that the experiment is planned to find (0.05 by default).

    >>> clicked, arms = [1, 1, 1, 0] * 50, ["new", "new", "old", "old"] * 50
    >>> found = ab_verdict(clicked, arms, range(200))
    >>> found.winner, found.difference
    ('new', 0.5)
    """
    table = np.asarray(values, np.float64)
    if table.ndim != 1 or len(table) != len(arms):
        raise ValueError(
            f"values and arms need one entry per page, got shape {table.shape}, {len(arms)} arms"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"values must be finite, got {table[~np.isfinite(table)][0]}")
    present = np.unique(np.asarray(arms)).tolist()
    first, second = _two(present) if names is None else names
    if set(present) != {first, second}:
        raise ValueError(f"both arms {first!r} and {second!r} need pages and no other, got arms {present}")
    in_first = np.array([arm == first for arm in arms])
    code = user_codes(users, len(table))
    sides = [_by_user(table[side], code[side]) for side in (in_first, ~in_first)]
    difference = sides[0].mean - sides[1].mean
    variance = sides[0].error ** 2 + sides[1].error ** 2
    bound = always_valid_difference(difference, variance, confidence=confidence, planned=planned)
    random = np.random.default_rng(seed)
    drawn = [user_means(side.sums, side.pages, RESAMPLES, random) for side in sides]
    tail = error_rate(confidence) / 2
    fixed = np.quantile(drawn[0] - drawn[1], [tail, 1 - tail])
    return ABVerdict(
        first=str(first),
        second=str(second),
        pages=(int(in_first.sum()), int((~in_first).sum())),
        means=(sides[0].mean, sides[1].mean),
        difference=difference,
        low=bound.low,
        high=bound.high,
        p_value=bound.p_value,
        fixed_low=float(fixed[0]),
        fixed_high=float(fixed[1]),
    )


class Bound(NamedTuple):
    """An interval and a p-value that hold at every look."""

    low: float
    high: float
    p_value: float


def always_valid_difference(
    difference: float, variance: float, *, confidence: float = 0.95, planned: float | None = None
) -> Bound:
    r"""An interval and a p-value for a difference of means that hold at every look (Johari et al., 2017).

    The mixture of normal likelihood ratios over differences of variance :math:`\tau^2` (`planned` squared)

    .. math:: \Lambda = \sqrt{\frac{V}{V + \tau^2}} \exp \frac{\tau^2 d^2}{2 V (V + \tau^2)}

    stays below 1 / (1 - confidence) at all times with probability `confidence` if there is no difference.

    >>> bound = always_valid_difference(0.1, 0.02**2)
    >>> round(bound.low, 3), round(bound.high, 3)
    (0.039, 0.161)
    """
    variance, spread = max(variance, 1e-12), (PLANNED if planned is None else planned) ** 2
    both = variance + spread
    log_ratio = 0.5 * np.log(variance / both) + spread * difference**2 / (2 * variance * both)
    half = np.sqrt(variance * both / spread * (np.log(both / variance) - 2 * np.log(error_rate(confidence))))
    p_value = float(min(1.0, np.exp(-log_ratio)))
    return Bound(float(difference - half), float(difference + half), p_value)


class _Side(NamedTuple):
    """One arm: the mean over its pages with the standard error, and the sums and pages of each person."""

    mean: float
    error: float
    sums: Floats
    pages: Ints


def _by_user(values: Floats, code: Ints) -> _Side:
    mean = float(values.mean())
    people, at = np.unique(code, return_inverse=True)
    off = np.bincount(at, values - mean, minlength=len(people))
    scale = len(people) / max(len(people) - 1, 1)
    error = float(np.sqrt(scale * (off**2).sum())) / len(values)
    return _Side(mean, error, np.bincount(at, values).astype(np.float64), np.bincount(at))


def _two(arms: list[Any]) -> tuple[Any, Any]:
    if len(arms) != 2:
        raise ValueError(f"an A/B verdict needs pages of two arms, got {len(arms)}: {arms}")
    return arms[0], arms[1]
