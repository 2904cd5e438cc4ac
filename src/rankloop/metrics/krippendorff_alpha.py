"""Krippendorff's alpha of any number of raters."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop.metrics.results.agreement import Agreement, grades_of, squared_distances, with_interval

__all__ = ["krippendorff_alpha"]


def krippendorff_alpha(
    ratings: ArrayLike,
    *,
    distance: str = "ordinal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    r"""The agreement of raters who need not have graded the same items (Krippendorff, 2011).

    .. math:: \alpha = 1 - \frac{D_o}{D_e}

    with the mean squared distance :math:`D_o` of two grades of one item, and :math:`D_e` of any two grades.
    `ratings` has a row per item and a column per rater, nan where a rater gave no grade; items with fewer
    than two grades are left out. `distance` is "nominal", "ordinal", "interval" or "ratio". The interval
    is a bootstrap over items.

    >>> grades = [[1, 1], [2, 2], [3, 3], [3, 3], [2, 2], [1, 2], [4, 4], [1, 1], [2, 2]]
    >>> krippendorff_alpha(grades, distance="nominal").value.__round__(4)
    0.8522
    """
    table = np.asarray(ratings, np.float64)
    if table.ndim != 2:
        raise ValueError(
            f"ratings have a row per item and a column per rater, got an array of {table.ndim} dimensions"
        )
    several = (~np.isnan(table)).sum(1) > 1
    kept = table[several]
    grades = grades_of(kept)
    kinds, counts = _kinds(kept, grades)
    pairs = _coincidences(kinds)
    low, high = with_interval(
        lambda drawn: _parts(np.tensordot(drawn, pairs, 1), grades, distance)[0],
        counts,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    together = np.tensordot(counts, pairs, 1)
    value, observed, expected = _parts(together, grades, distance)
    rates = together.sum(1) / max(float(together.sum()), 1.0)
    raters = int((~np.isnan(kept)).any(0).sum())
    shares = dict(zip(grades.tolist(), rates.tolist(), strict=True))
    return Agreement(value, low, high, observed, expected, len(kept), raters, shares, confidence)


def _kinds(kept: Floats, grades: Floats) -> tuple[Ints, Ints]:
    """The distinct items as counts of each grade, and how many items are alike."""
    by_grade = np.stack([(kept == grade).sum(1) for grade in grades], 1) if len(grades) else np.empty((0, 0))
    kinds, counts = np.unique(by_grade.astype(np.int64), axis=0, return_counts=True)
    return kinds, counts.astype(np.int64)


def _coincidences(kinds: Ints) -> Floats:
    """For each kind of item, how often each two of its grades meet; an item counts as its grades do."""
    number = kinds.sum(1)
    pairs = kinds[:, :, None] * kinds[:, None, :] - kinds[:, :, None] * np.eye(kinds.shape[1], dtype=np.int64)
    found: Floats = pairs / (number - 1)[:, None, None]
    return found


def _parts(together: Floats, grades: Floats, distance: str) -> tuple[float, float, float]:
    """Alpha, the agreement that was observed, and that of chance."""
    total = float(together.sum())
    if total < 2:
        return float("nan"), float("nan"), float("nan")
    counts = together.sum(1)
    apart = squared_distances(grades, counts, distance)
    most = max(float(apart.max()), 1e-300)
    observed = float((together * apart).sum()) / total
    expected = float((np.outer(counts, counts) * apart).sum()) / (total * (total - 1))
    value = 1 - observed / expected if expected > 0 else float("nan")
    return value, 1 - observed / most, 1 - expected / most
