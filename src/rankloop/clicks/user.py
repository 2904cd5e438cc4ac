"""The simulated users of the literature, by name."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import unknown
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.dbn import DBN
from rankloop.clicks.pbm import PBM
from rankloop.clicks.sdbn import SDBN
from rankloop.clicks.trust_pbm import TrustPBM

__all__ = ["PRESETS", "attraction_by_grade", "eye_tracking", "power_law", "user"]

# Joachims et al. (2017), from eye tracking: the share of users who look at each of ten ranks.
_EYE_TRACKING = (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06)


def attraction_by_grade(*, noise: float = 0.1, max_label: int = 4) -> Floats:
    r"""Ai et al. (2018): :math:`\epsilon + (1 - \epsilon) (2^y - 1) / (2^{y_{max}} - 1)`.

    >>> attraction_by_grade().round(2)
    array([0.1 , 0.16, 0.28, 0.52, 1.  ])
    """
    if not 0 <= noise <= 1 or max_label < 1:
        raise ValueError(f"noise lies in [0, 1] and max_label is at least 1, got {noise} and {max_label}")
    grade = np.arange(max_label + 1)
    return np.asarray(noise + (1 - noise) * (2.0**grade - 1) / (2.0**max_label - 1))


def power_law(eta: float = 1.0) -> Callable[[Ints], Floats]:
    r"""Examination :math:`(1/k)^\eta` for any rank.

    >>> power_law(2.0)(np.array([1, 2]))
    array([1.  , 0.25])
    """
    return lambda rank: (1.0 / np.asarray(rank)) ** eta


def eye_tracking(eta: float = 1.0) -> Callable[[Ints], Floats]:
    """The eye-tracking curve to the power `eta`; beyond rank 10 it stays at the last value.

    >>> eye_tracking()(np.array([1, 2, 11]))
    array([0.68, 0.61, 0.06])
    """
    curve = np.array(_EYE_TRACKING)
    return lambda rank: curve[np.minimum(np.asarray(rank), 10) - 1] ** eta


def _cascade(click: tuple[float, ...], stop: tuple[float, ...]) -> Callable[[float, float, int], ClickModel]:
    """Guo et al. (2009), with the parameters of online learning: P(click | grade), P(stop | click, grade)."""

    def made(eta: float, noise: float, max_label: int) -> ClickModel:
        at = np.linspace(0, 4, max_label + 1)
        grades = np.arange(5)
        return SDBN(attraction=np.interp(at, grades, click), satisfaction=np.interp(at, grades, stop))

    return made


def _position(
    curve: Callable[[float], Callable[[Ints], Floats]],
) -> Callable[[float, float, int], ClickModel]:
    def made(eta: float, noise: float, max_label: int) -> ClickModel:
        attraction = attraction_by_grade(noise=noise, max_label=max_label)
        return PBM(examination=curve(eta), attraction=attraction)

    return made


def _trust(eta: float, noise: float, max_label: int) -> ClickModel:
    """Oosterhuis (2022), from the estimates of Agarwal et al. (2019); relevance is y / y_max."""

    def examined(rank: Ints) -> Floats:
        return (0.35 / rank + 0.65 / (1 + 0.05 * (rank - 1))) ** eta

    return TrustPBM(
        relevant=lambda rank: examined(rank) / (1 + 0.005 * (rank - 1)),
        other=lambda rank: examined(rank) * 0.65 / rank,
        attraction=np.arange(max_label + 1) / max_label,
    )


def _dbn(eta: float, noise: float, max_label: int) -> ClickModel:
    attraction = attraction_by_grade(noise=noise, max_label=max_label)
    return DBN(attraction=attraction, satisfaction=0.8 * attraction, continuation=0.9)


PRESETS: dict[str, Callable[[float, float, int], ClickModel]] = {
    "perfect": _cascade((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    "navigational": _cascade((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    "informational": _cascade((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    "pbm": _position(power_law),
    "eye_tracking": _position(eye_tracking),
    "trust": _trust,
    "dbn": _dbn,
}


def user(who: str | ClickModel, *, eta: float = 1.0, noise: float = 0.1, max_label: int = 4) -> ClickModel:
    """A simulated user by name; a click model passes through.

    `eta` is the steepness of the examination of "pbm", "eye_tracking" and "trust", `noise` the attraction of
    grade 0 in "pbm", "eye_tracking" and "dbn"; "perfect", "navigational" and "informational" have their
    published tables, interpolated where `max_label` is not 4.

    >>> user("navigational").click_probability([4, 0]).round(5)
    array([0.95   , 0.00725])
    """
    if isinstance(who, ClickModel):
        return who
    if who not in PRESETS:
        raise unknown("user", who, PRESETS)
    return PRESETS[who](eta, noise, max_label)
