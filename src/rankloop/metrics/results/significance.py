"""Paired tests of the difference between two systems, and a correction for several tests."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._student import check_confidence
from rankloop.metrics.results.mean import mean_of

__all__ = ["Difference", "holm", "paired_bootstrap", "paired_t", "randomization"]

_CHUNK = 8192  # draws at a time: what they need stays in the cache


class Difference(NamedTuple):
    """The mean of `values - baseline` over `n` queries, its interval, and the two-sided p-value."""

    mean: float
    low: float
    high: float
    p_value: float
    n: int


def paired_t(
    values: ArrayLike, baseline: ArrayLike, *, weight: ArrayLike | None = None, confidence: float = 0.95
) -> Difference:
    r"""Student's paired t-test (Student, 1908): are the differences :math:`d_q` centred on zero?

    .. math:: t = \bar d \,/\, \sqrt{\textstyle\sum_q (d_q - \bar d)^2 / (n (n - 1))}

    >>> paired_t([0.5, 0.6, 0.9, 0.7], [0.4, 0.6, 0.7, 0.6]).p_value.__round__(4)
    0.0917
    """
    d, w = _differences(values, baseline, weight)
    mean = mean_of(d, w, confidence=confidence, kind="student")
    if mean.error == 0.0 or len(d) == 1:
        certain = mean.value != 0.0 and len(d) > 1
        return Difference(mean.value, mean.low, mean.high, 0.0 if certain else 1.0, len(d))
    from scipy.special import stdtr

    p_value = float(2 * stdtr(max(mean.units - 1, 1.0), -abs(mean.value) / mean.error))
    return Difference(mean.value, mean.low, mean.high, p_value, len(d))


def randomization(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 100_000,
    seed: int = 0,
) -> Difference:
    r"""Fisher's randomisation test (Fisher, 1935; for search: Smucker, Allan & Carterette, 2007).

    If the two systems were alike, each query's two values could as well be swapped. The p-value is the
    share of swaps whose mean difference is at least as large as the one seen. All :math:`2^n` swaps are
    tried when they are at most `resamples`; otherwise `resamples` are drawn, and what was seen counts
    as one of them. The interval holds the differences that the same swaps would not reject: it lies
    between quantiles of the means of random subsets of queries (Hartigan, 1969). Below six queries it
    is unbounded at 95 %: this test cannot show a difference on so few.

    >>> randomization([0.5, 0.6, 0.9, 0.7], [0.4, 0.6, 0.7, 0.6]).p_value
    0.25
    """
    d, w = _differences(values, baseline, weight)
    check_confidence(confidence)
    n, total = len(d), float(w @ d)
    exact = n < 63 and 2**n <= _at_least_one(resamples)
    draws = 2**n if exact else resamples
    swapped, swapped_weight = _swapped_sums(w * d, w, draws, None if exact else np.random.default_rng(seed))
    as_large = np.abs(total - 2 * swapped) >= abs(total) - 1e-12 * float(w @ np.abs(d))
    seen = 0 if exact else 1
    p_value = (int(as_large.sum()) + seen) / (draws + seen)
    some = swapped_weight > 0
    means = np.sort(swapped[some] / swapped_weight[some])
    # Swapping no query fits every difference: it counts below all of them and above all of them.
    at = int((1 - confidence) / 2 * (draws + seen)) - (draws + seen - len(means))
    low, high = (means[at], means[-1 - at]) if at >= 0 else (-np.inf, np.inf)
    return Difference(total / float(w.sum()), float(low), float(high), p_value, n)


def paired_bootstrap(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Difference:
    r"""The paired bootstrap test on Student's t (Efron & Tibshirani, 1993; for search: Sakai, 2006).

    Queries are drawn again with replacement; the p-value is the share of draws whose
    :math:`|\bar d^* - \bar d| / \mathrm{se}^*` is at least :math:`|\bar d| / \mathrm{se}`, and the
    interval reaches as many standard errors to each side as the same draws ask for.

    >>> paired_bootstrap([0.5, 0.6, 0.9, 0.7, 0.4], [0.4, 0.6, 0.7, 0.6, 0.3]).p_value < 0.05
    True
    """
    d, w = _differences(values, baseline, weight)
    check_confidence(confidence)
    n, mean = len(d), float(w @ d / w.sum())
    if n == 1:
        return Difference(mean, -np.inf, np.inf, 1.0, 1)
    u = d - mean
    own = float(np.sqrt(np.sum((w * u) ** 2) * n / (n - 1)) / w.sum())
    sums = _resampled_sums(
        np.stack([w, w * u, (w * u) ** 2, w * w * u, w * w], axis=1), _at_least_one(resamples), seed
    )
    shift = sums[:, 1] / sums[:, 0]
    spread = sums[:, 2] - 2 * shift * sums[:, 3] + shift**2 * sums[:, 4]
    error = np.sqrt(np.maximum(spread, 0) * n / (n - 1)) / sums[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.abs(shift) / error, nan=0.0, posinf=np.inf)
        seen = np.nan_to_num(np.float64(abs(mean)) / own, nan=0.0, posinf=np.inf)
    p_value = float((np.sum(t >= seen * (1 - 1e-12)) + 1) / (resamples + 1))
    reach = float(np.quantile(t, confidence, method="higher")) * own if own > 0 else 0.0
    return Difference(mean, mean - reach, mean + reach, p_value, n)


def holm(p_values: ArrayLike) -> Floats:
    r"""P-values adjusted for their number (Holm, 1979): no more than 5 % chance of any false alarm at 0.05.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"holm takes a list of p-values between 0 and 1, got {p_values!r}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def _swapped_sums(
    values: Floats, weight: Floats, draws: int, rng: "np.random.Generator | None"
) -> tuple[Floats, Floats]:
    """The sums of values and of weights over the queries that each draw swaps: all ways, or at random.

    Eight queries are swapped by one look into a table of the 256 ways to swap them; complex numbers
    carry both sums at once.
    """
    groups = -(-len(values) // 8)
    padded = np.zeros(8 * groups, np.complex128)
    padded[: len(values)] = values + 1j * weight
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    tables = padded.reshape(groups, 8) @ bits.T.astype(np.float64)
    sums = np.zeros(draws, np.complex128)
    for start in range(0, draws, _CHUNK):
        part = sums[start : start + _CHUNK]
        for first in range(0, groups, 64):
            some = tables[first : first + 64]
            if rng is None:  # at most 62 queries, so this is the only block
                ways = np.arange(start, start + len(part)) >> 8 * np.arange(groups)[:, None] & 255
            else:
                ways = rng.integers(0, 256, (len(some), len(part)), dtype=np.uint8)
            for table, way in zip(some, ways, strict=True):
                part += table.take(way)
    return sums.real, sums.imag


def _resampled_sums(columns: Floats, resamples: int, seed: int) -> Floats:
    """The sums of the columns over queries drawn with replacement, one row per draw."""
    rng, n = np.random.default_rng(seed), len(columns)
    sums = np.empty((resamples, columns.shape[1]))
    step = max(1, 12 * _CHUNK // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, n, (rows, n), dtype=np.int32) + n * np.arange(rows, dtype=np.int32)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        sums[start : start + rows] = counts @ columns
    return sums


def _at_least_one(resamples: int) -> int:
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    return resamples


def _differences(values: ArrayLike, baseline: ArrayLike, weight: ArrayLike | None) -> tuple[Floats, Floats]:
    new, old = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if new.ndim != 1 or new.shape != old.shape:
        raise ValueError(
            "a paired test needs one value per query of each system, in the same order, "
            f"got shapes {new.shape} and {old.shape}"
        )
    w = np.ones(len(new)) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.shape != new.shape or not np.all(np.isfinite(w) & (w >= 0)):
        raise ValueError(f"weight needs one finite number >= 0 per query ({len(new)}), got shape {w.shape}")
    wrong = ~(np.isfinite(new) & np.isfinite(old))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"values must be finite, got {new[at]} and {old[at]} for query {at}; "
            "leave out the queries that have no value"
        )
    if not np.any(w > 0):
        raise ValueError("there is no query to compare on; give at least one with a weight above 0")
    kept = w > 0
    return (new - old)[kept], w[kept]
