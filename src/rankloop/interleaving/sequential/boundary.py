"""Boundaries that a mean without a difference crosses with probability 1 - confidence at most, ever."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats

__all__ = ["LEAST_PEOPLE", "Course", "mixture", "planned_people"]

LEAST_PEOPLE = 100  # effective people, below which no winner is named
HORIZON = 300.0  # people with one page each, around which the mixture is sharpest
CAUTION = 1.1  # how much smaller than 1 - confidence the error of the ideal process is kept
WIDER = 1.07  # the same for a planned number of people, as a factor of the boundary


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
    difference: Floats, variance: Floats, information: Floats, ready: Bools, error: float, largest: Floats
) -> Course:
    r"""For any number of looks: Robbins' normal mixture.

    With V the variance of the difference d and r the information, in units of `HORIZON` people with one
    page each,

    .. math:: \Lambda = \frac{1}{\sqrt{1 + r}} \exp\frac{d^2}{2 V (1 + 1/r)}

    is for a Brownian motion a martingale with mean 1, so it ever reaches 1/error with probability `error`.
    """
    variance = np.maximum(variance, 1e-300)
    ratio = np.maximum(information / HORIZON, 1e-300)
    wider = variance * (1 + 1 / ratio)
    half = np.sqrt(wider * (np.log1p(ratio) + 2 * np.log(CAUTION / error)))
    log_p = np.log(CAUTION) - (difference**2 / wider - np.log1p(ratio)) / 2
    return _course(difference, half, np.exp(np.minimum(log_p, 0.0)), ready, largest)


def planned_people(
    difference: Floats, variance: Floats, share: Floats, ready: Bools, error: float, largest: Floats
) -> Course:
    r"""For a number of people fixed beforehand: O'Brien and Fleming's boundary, looked at all the time.

    With the `share` of the planned people who have come, :math:`d \sqrt{share / V}` is a Brownian motion on
    [0, 1]; it ever passes c on either side with probability :math:`4 (1 - \Phi(c))` at most.
    """
    from scipy.special import ndtr, ndtri

    scale = WIDER * np.sqrt(np.maximum(variance, 1e-300) / np.maximum(share, 1e-300))
    half = ndtri(1 - error / 4) * scale
    p_value = np.minimum(4 * ndtr(-np.abs(difference) / scale), 1.0)
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
