"""Slopes of affine clicks by rank, from documents that moved, with attraction as an instrument."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rankloop._arrays import Bools, Floats
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.fitting.moved import Moved, compared, people_or_pages, two_halves

__all__ = ["Slopes", "slopes_of"]

GROUPS = 30  # of queries or people, each of which is left out once
LEAST = 5  # weighted clicks at both ranks


class Slopes(NamedTuple):
    r"""The slope at each rank over that at the first, :math:`\alpha_k / \alpha_1`, with its interval.

    `identified` says where the log tells it: elsewhere the value and the interval are nan.
    """

    values: Floats
    low: Floats
    high: Floats
    identified: Bools


def slopes_of(log: ClickLog, confidence: float, seed: int) -> Slopes:
    r"""If clicks at rank k are :math:`\alpha_k \gamma + \beta_k`, their covariance with a measure of
    :math:`\gamma` that has other errors is proportional to :math:`\alpha_k`: no document's own noise enters.

    Every two ranks with common documents give a ratio; least squares on logarithms joins them. Intervals are
    by jackknife over groups of queries, and of people or pages, whichever is wider.
    """
    halves = two_halves(log, np.ones(len(log), bool), seed)
    depth = max((half.ranks for half in halves), default=1)
    values = _curve(halves, log, None, depth)
    error = np.zeros(depth)
    rng = np.random.default_rng([seed, 8])
    for code in (log.page_query.code, people_or_pages(log)):
        present, unit = np.unique(code, return_inverse=True)
        groups = min(GROUPS, len(present))
        if groups < 5:
            continue
        group = (rng.permutation(len(present)) % groups)[unit][log.row_page]
        found = np.array([_curve(halves, log, group != one, depth) for one in range(groups)])
        spread = np.sqrt((groups - 1) / groups * np.sum((found - found.mean(axis=0)) ** 2, axis=0))
        error = np.maximum(error, np.where(np.isnan(spread), np.inf, spread))
    error[0] = 0.0
    if depth > 1 and not error[1:].any():
        raise ValueError("intervals need at least five queries or five pages of a log with clicks")
    reach = float(student.ppf((1 + confidence) / 2, GROUPS - 1)) * error
    known = np.isfinite(values) & (reach < np.log(4.0))
    value, low, high = (
        np.where(known, np.exp(part), np.nan) for part in (values, values - reach, values + reach)
    )
    return Slopes(value, low, high, known)


def _curve(halves: list[Moved], log: ClickLog, kept: Bools | None, depth: int) -> Floats:
    """The logarithm of the slope of each rank, nan where nothing ties it to the first."""
    total = np.zeros((depth, depth, 4))
    for half in halves:
        weight = np.ones(len(half.rows)) if kept is None else kept[half.rows].astype(np.float64)
        both = (weight, weight * log.click[half.rows])
        shown, clicks = (np.asarray(np.bincount(half.cell, one, len(half.pair)), np.float64) for one in both)
        sums = compared(half, shown, clicks)
        middle = sums[:, :, 4:5] / np.maximum(sums[:, :, 5:6], 1e-300)
        covariance = sums[:, :, 2:4] - middle * sums[:, :, 0:2]
        total[: half.ranks, : half.ranks] += np.concatenate([sums[:, :, 0:2], covariance], axis=2)
    clicks_low, clicks_high, low, high = np.moveaxis(total, 2, 0)
    used = (np.minimum(clicks_low, clicks_high) >= LEAST) & (np.minimum(low, high) > 0)
    a, b = np.nonzero(used)
    weight = np.sqrt(clicks_low[a, b] * clicks_high[a, b] / (clicks_low[a, b] + clicks_high[a, b]))
    design = np.zeros((len(a), depth))
    design[np.arange(len(a)), b] = weight
    design[np.arange(len(a)), a] -= weight
    curve = np.full(depth, np.nan)
    curve[0] = 0.0
    tied = np.zeros(depth, bool)
    tied[0] = True
    for _ in range(depth):  # ranks that a chain of pairs ties to the first
        tied[b[tied[a]]] = True
        tied[a[tied[b]]] = True
    rest = np.flatnonzero(tied)[1:]
    if len(rest):
        right = weight * np.log(high[a, b] / low[a, b])
        inside = tied[a]
        curve[rest] = np.linalg.lstsq(design[np.ix_(inside, rest)], right[inside], rcond=None)[0]
    return curve
