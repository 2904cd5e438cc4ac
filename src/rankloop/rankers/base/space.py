"""The space of a search for parameters: a range for each, and settings as places in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Self

import numpy as np

from rankloop._arrays import Floats

__all__ = ["Range", "Space"]

Range = Sequence[Any] | Mapping[str, Any]
_TABLE = ("low", "high", "log", "step")


@dataclass(frozen=True)
class Space:
    """A list of choices, or a table with `low`, `high`, and perhaps `log` and `step`, for each parameter.

    Settings are rows of places: where the value lies in its range, from 0 to 1, or the number of the choice.

    >>> space = Space.of({"C": (0.1, 10.0, "log"), "loss": ["hinge", "squared_hinge"]})
    >>> space.settings(np.array([[0.5, 1.0]]))
    [{'C': 1.0, 'loss': 'squared_hinge'}]
    """

    ranges: dict[str, list[Any] | dict[str, Any]]

    @classmethod
    def of(cls, space: Mapping[str, Range]) -> Self:
        """The space from ranges as people write them, checked."""
        return cls({name: _checked(name, range_) for name, range_ in space.items()})

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Random settings; all of them, in random order, where there are no more than `count`."""
        if prod(map(_size, self.ranges.values())) <= count:
            every = [range(int(_size(range_))) for range_ in self.ranges.values()]
            rows = np.array(list(product(*every)), np.float64)
            for column, range_ in enumerate(self.ranges.values()):
                if not isinstance(range_, list):
                    rows[:, column] = _place(_numbered(rows[:, column], range_), range_)
            return rng.permutation(rows)
        return self._drawn(count, rng)

    def _drawn(self, count: int, rng: np.random.Generator) -> Floats:
        rows = rng.random((count, len(self.ranges)))
        for column, range_ in enumerate(self.ranges.values()):
            rows[:, column] = _spread(rows[:, column], range_)
        return self.snapped(rows)

    def snapped(self, rows: Floats) -> Floats:
        """Places moved into the ranges, and to those of whole numbers, steps and choices."""
        columns = [
            _place(_value(rows[:, at], range_), range_) for at, range_ in enumerate(self.ranges.values())
        ]
        return np.stack(columns, axis=1)

    def places(self, settings: Iterable[Mapping[str, Any]], rng: np.random.Generator) -> Floats:
        """Settings that hold the numbers of choices; a parameter that one does not name is drawn."""
        given = list(settings)
        rows = self._drawn(len(given), rng)
        for row, setting in zip(rows, given, strict=True):
            for column, (name, range_) in enumerate(self.ranges.items()):
                if name in setting:
                    row[column] = _place(np.array([setting[name]]), range_)[0]
        return rows

    def settings(self, rows: Floats) -> list[dict[str, Any]]:
        """The parameters at these places."""
        columns = []
        for column, range_ in enumerate(self.ranges.values()):
            values = _value(rows[:, column], range_).tolist()
            columns.append([range_[value] for value in values] if isinstance(range_, list) else values)
        return [dict(zip(self.ranges, values, strict=True)) for values in zip(*columns, strict=True)]

    def apart(self, some: Floats, others: Floats) -> Floats:
        """The distance of each two rows in each parameter, from 0 to 1; 1 where choices differ."""
        choice = np.array([isinstance(range_, list) for range_ in self.ranges.values()])
        distance = np.abs(some[:, None] - others[None])
        return np.where(choice, distance > 0, distance)


def _size(range_: Any) -> float:
    """How many values the range has."""
    if isinstance(range_, list):
        return len(range_)
    low, high, step = range_["low"], range_["high"], range_.get("step")
    if low == high:
        return 1
    if step is not None:
        return int((high - low) / step + 1e-9) + 1
    return high - low + 1 if _whole(range_) else np.inf


def _numbered(at: Floats, range_: Any) -> Floats:
    """The values of a range of steps or whole numbers, by their number from 0."""
    values: Floats = range_["low"] + (range_.get("step") or 1) * at
    return values


def _spread(at: Floats, range_: Any) -> Floats:
    """Places drawn from 0 to 1, so that the ends of a range of steps are as likely as the rest."""
    if isinstance(range_, list):
        return np.floor(at * len(range_))
    step = range_.get("step") or (1 if _whole(range_) else 0)
    low, high = range_["low"], range_["high"]
    if step == 0 or low == high:
        return at
    if range_.get("step"):
        high = low + step * int((high - low) / step + 1e-9)
    ends = _place(np.array([low - step / 2, high + step / 2]), range_)
    found: Floats = ends[0] + at * (ends[1] - ends[0])
    return found


def _whole(range_: Any) -> bool:
    return isinstance(range_["low"], int) and isinstance(range_["high"], int)


def _place(values: Any, range_: Any) -> Floats:
    if isinstance(range_, list):
        return np.asarray(values, np.float64)
    low, high = range_["low"], range_["high"]
    if low == high:
        return np.zeros(len(values))
    if range_.get("log"):
        return np.asarray(np.log(values / low) / np.log(high / low), np.float64)
    return np.asarray((values - low) / (high - low), np.float64)


def _value(at: Floats, range_: Any) -> Any:
    """Values at these places, moved into the range and to whole numbers or steps where it has them."""
    if isinstance(range_, list):
        return np.clip(at, 0, len(range_) - 1).astype(np.int64)
    low, high, step = range_["low"], range_["high"], range_.get("step")
    found = low * (high / low) ** at if range_.get("log") else low + (high - low) * at
    if step is not None:
        last = int((high - low) / step + 1e-9)
        found = low + step * np.clip(np.round((found - low) / step), 0, last)
    elif _whole(range_):
        found = np.round(found)
    found = np.clip(found, low, high)
    return found.astype(np.int64) if _whole(range_) and isinstance(step, int | None) else found


def _checked(name: str, range_: Range) -> list[Any] | dict[str, Any]:
    """A list of choices, or a table with low, high and perhaps log and step."""
    if isinstance(range_, list):
        if not range_:
            raise ValueError(f"the space of {name} is empty; list the values to try")
        return range_
    if isinstance(range_, tuple):
        if len(range_) not in (2, 3) or range_[2:] not in ((), ("log",)):
            raise ValueError(
                f"the space of {name} is written (low, high) or (low, high, 'log'), got {range_}"
            )
        range_ = {"low": range_[0], "high": range_[1], "log": len(range_) == 3}
    if not isinstance(range_, Mapping) or not {"low", "high"} <= set(range_) <= set(_TABLE):
        raise ValueError(
            f"the space of {name} is a list of choices, a tuple (low, high) or a table with low, high, log "
            f"and step, got {range_!r}"
        )
    low, high, step = range_["low"], range_["high"], range_.get("step")
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)):
        raise ValueError(f"the space of {name} goes between two numbers, got {low!r} and {high!r}")
    if not low <= high < float("inf"):
        raise ValueError(f"the space of {name} goes from low to high, got {low} and {high}")
    if range_.get("log") and low <= 0:
        raise ValueError(f"the space of {name} is logarithmic and must start above 0, got {low}")
    if step is not None and (not isinstance(step, int | float) or step <= 0):
        raise ValueError(f"the step of {name} must be above 0, got {step!r}")
    if step is not None and range_.get("log"):
        raise ValueError(f"the space of {name} has a step or is logarithmic, not both; leave one out")
    return dict(range_)
