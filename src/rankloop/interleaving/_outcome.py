"""What all verdicts on two rankers have."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

__all__ = ["Outcome", "error_rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The difference `first` minus `second` with its interval and p-value; 0 means no difference."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def winner(self) -> str | None:
        """The better one by name, or None while the interval holds 0."""
        if self.low > 0:
            return self.first
        return self.second if self.high < 0 else None

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays, and the winner."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}
        return {**plain, "winner": self.winner}


def error_rate(confidence: float) -> float:
    """1 - confidence, checked."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies in (0, 1), got {confidence}")
    return 1 - confidence
