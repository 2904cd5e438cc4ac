"""The steps of the demo: each is timed, and its numbers are printed and kept."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Steps"]


@dataclass(slots=True)
class Steps:
    """What was measured, by step."""

    seconds: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @property
    def total(self) -> float:
        """Seconds since the first step began, including the time between steps."""
        return time.perf_counter() - self.started

    @contextmanager
    def step(self, name: str, title: str) -> Iterator[dict[str, Any]]:
        """Time a step; what it puts into the dict is printed and kept under the step's name."""
        start = time.perf_counter()
        found: dict[str, Any] = {}
        yield found
        self.seconds[name] = time.perf_counter() - start
        self.numbers[name] = found
        numbers = ", ".join(f"{what} {_text(value)}" for what, value in found.items())
        print(f"{self.seconds[name]:6.1f} s  {title}{': ' if numbers else ''}{numbers}", flush=True)

    def to_dict(self) -> dict[str, Any]:
        return {"seconds": {**self.seconds, "total": self.total}, "numbers": self.numbers}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        return " ".join(f"{one:.2f}" for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
