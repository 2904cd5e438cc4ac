"""What all verdicts on two rankers have."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rankloop._student import check_confidence

__all__ = ["Outcome", "error_rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The difference `first` minus `second` with its interval and p-value; 0 means no difference.

    `winner` is the better one by name, or None while undecided.
    """

    first: str
    second: str
    winner: str | None
    difference: float
    low: float
    high: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}

    def decided(self, stop: int) -> str:
        """When the winner was named, and whether the interval of all pages still shows it."""
        since = ", but the interval of all pages so far includes 0" if self.low <= 0 <= self.high else ""
        return f"decided after {stop:,} pages{since}"


def error_rate(confidence: float) -> float:
    """1 - confidence, checked."""
    check_confidence(confidence)
    return 1 - confidence
