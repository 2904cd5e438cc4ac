"""Boundaries that a mean without a difference crosses with probability 1 - confidence at most, ever."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats

__all__ = ["LEAST_PEOPLE", "Course", "mixture", "planned_people"]

LEAST_PEOPLE = 100  # effective people, below which no winner is named
HORIZONS = {300.0: 10 / 11, 10_000.0: 1 / 11}  # people around which the mixture is sharpest, and weights
STEPS = 4  # of Newton's method; three give double precision
WIDER = 1.07  # of a planned number of people: a factor of the boundary
DEARER = 3.0  # a unit of renewal that was not planned, in its p-value


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """A difference page by page with its interval; p-values never rise, for the evidence is all looks'."""

    differences: Floats
    lows: Floats
    highs: Floats
    p_values: Floats
    stop: int | None

    @property
    def sign(self) -> int:
        """1 or -1 for the side that the first interval without 0 favours, 0 while there is none."""
        return 0 if self.stop is None else int(np.sign(self.differences[self.stop - 1]))


def mixture(
    difference: Floats,
    variance: Floats,
    information: Floats,
    counted: Floats,
    ready: Bools,
    error: float,
    largest: Floats,
) -> Course:
    r"""For any number of looks: Robbins' normal mixture, of two widths.

    With V the variance of the difference d, and r the information in units of h people with one page each,

    .. math:: \Lambda = \sum_h w_h \frac{1}{\sqrt{1 + r_h}} \exp\frac{d^2}{2 V (1 + 1/r_h)}

    is for a Brownian motion a martingale with mean 1, so it ever reaches 1/error with probability `error`.
    The first width serves experiments of some thousand people, for whom the second, with a small weight,
    leaves something of `error` unspent; it lowers the boundary for a hundred thousand. Where the difference
    was renewed faster than the information says (`counted`, of `clock.counted_information`), the wider
    boundary of both is taken.
    """
    variance = np.maximum(variance, 1e-300)
    evidence, half = _mixed(difference, variance, information, error)
    more = counted > information
    if more.any():
        least, wider = _mixed(difference[more], variance[more], counted[more], error)
        evidence[more] = np.minimum(evidence[more], least)
        half[more] = np.maximum(half[more], wider)
    return _course(difference, half, np.exp(np.minimum(-evidence, 0.0)), ready, largest)


def _mixed(difference: Floats, variance: Floats, information: Floats, error: float) -> tuple[Floats, Floats]:
    """The logarithm of the mixture, and the difference at which it reaches 1/error."""
    parts = []
    for people, weight in HORIZONS.items():
        ratio = np.maximum(information / people, 1e-300)
        parts.append((ratio / (1 + ratio), np.log(weight) - np.log1p(ratio) / 2))
    evidence, _ = _log_sum(difference**2 / (2 * variance), parts)
    return evidence, np.sqrt(2 * variance * _reaching(-np.log(error), parts))


def _log_sum(x: Floats, parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The logarithm of the sum of exp(slope x + start) over the parts, and its derivative by x."""
    exponents = [slope * x + start for slope, start in parts]
    most = np.maximum.reduce(exponents)
    terms = [np.exp(one - most) for one in exponents]
    total = np.sum(terms, axis=0)
    rise = np.sum([slope * term for (slope, _), term in zip(parts, terms, strict=True)], axis=0)
    return most + np.log(total), rise / total


def _reaching(wanted: float, parts: list[tuple[Floats, Floats]]) -> Floats:
    """The x at which `_log_sum` is `wanted`; it is convex, so Newton's method falls to it from above."""
    x: Floats = np.minimum.reduce([(wanted - start) / slope for slope, start in parts])
    for _ in range(STEPS):
        value, rise = _log_sum(x, parts)
        x = x - (value - wanted) / rise
    return x


def planned_people(
    difference: Floats,
    variance: Floats,
    share: Floats,
    excess: Floats,
    ready: Bools,
    error: float,
    largest: Floats,
) -> Course:
    r"""For a number of people fixed beforehand: O'Brien and Fleming's boundary, looked at all the time.

    With the `share` of the plan's time that has passed, :math:`d \sqrt{share / V}` is a Brownian motion on
    [0, 1]; it ever passes c on either side with probability :math:`p = 4 (1 - \Phi(c))` at most. Of a
    renewal E that was not planned (`excess`), each part passes c with probability :math:`c \phi(c) dE`, so
    that the boundary of :math:`p (1 + 3 E)^2` has little more to spend however large E becomes.
    """
    from scipy.special import ndtr, ndtri

    scale = WIDER * np.sqrt(np.maximum(variance, 1e-300) / np.maximum(share, 1e-300))
    paid = (1 + DEARER * excess) ** 2
    half = -ndtri(error / (4 * paid)) * scale
    p_value = np.minimum(4 * ndtr(-np.abs(difference) / scale) * paid, 1.0)
    return _course(difference, half, p_value, ready, largest)


def _course(difference: Floats, half: Floats, p_value: Floats, ready: Bools, largest: Floats) -> Course:
    p_values = np.minimum.accumulate(np.where(ready, p_value, 1.0))
    reached = np.flatnonzero(ready & (np.abs(difference) > half))
    return Course(
        difference,
        np.maximum(difference - half, -largest),
        np.minimum(difference + half, largest),
        p_values,
        int(reached[0]) + 1 if len(reached) else None,
    )
