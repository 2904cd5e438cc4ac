"""Checks of the parameters of losses."""

from itertools import pairwise

from rankloop._arrays import Singles
from rankloop._names import one_of

__all__ = ["at_least_one", "check_gain", "choice", "highest_label", "not_negative", "positive"]


def positive(loss: object, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, (int, float)) and 0 < value < float("inf")):
            raise ValueError(f"{_option(loss, name)} must be above 0, got {value!r}")


def not_negative(loss: object, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, (int, float)) and 0 <= value < float("inf")):
            raise ValueError(f"{_option(loss, name)} must be finite and at least 0, got {value!r}")


def at_least_one(loss: object, **values: int | None) -> None:
    for name, value in values.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ValueError(f"{_option(loss, name)} must be a whole number from 1, got {value!r}")


def choice(loss: object, name: str, value: str, known: tuple[str, ...]) -> None:
    one_of(_option(loss, name), value, known)


def check_gain(loss: object, gain: str | tuple[float, ...]) -> None:
    if isinstance(gain, str):
        choice(loss, "gain", gain, ("exp2", "linear"))
    elif len(gain) == 0 or any(b < a for a, b in pairwise(gain)) or gain[0] < 0:
        raise ValueError(f"{_option(loss, 'gain')} must rise from at least 0, got {gain!r}")


def _option(loss: object, name: str) -> str:
    return f"{name} of {type(loss).__name__}"


def highest_label(loss: object, labels: Singles, given: float | None) -> float:
    """The highest grade: as given, where no label lies above it, or else the highest label of the call."""
    highest = float(labels.max(initial=0.0))
    if given is not None and highest > given:
        raise ValueError(f"{_option(loss, 'max_label')} is {given:g}, but a label is {highest:g}; raise it")
    return highest if given is None else given
