"""Linear and logarithmic scales, ticks and number formats."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["Scale", "number_text", "p_text", "span", "tick_texts", "ticks"]


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` lie from `start` to `stop`.

    >>> Scale(0, 10, 100, 200)(5)
    150.0
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(at, 1e-300))
        return self.start + (at - low) / (high - low) * (self.stop - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        return _decades(self.low, self.high) if self.log else ticks(self.low, self.high, about)

    def texts(self, values: Sequence[float]) -> list[str]:
        return [f"{value:g}" for value in values] if self.log else tick_texts(values)


def span(
    parts: Iterable[Any], *, within: Sequence[float] = (), room: float = 0.06, log: bool = False
) -> tuple[float, float]:
    """The range of all finite numbers with a margin; values of `within` are included without one.

    >>> span([[0.2, float("nan")], [0.4]], within=[0.0], room=0.0)
    (0.0, 0.4)
    """
    arrays = [np.asarray(part, np.float64).reshape(-1) for part in parts if part is not None]
    values = np.concatenate([*arrays, np.asarray(within, np.float64)]) if arrays else np.asarray(within)
    values = values[np.isfinite(values) & ((values > 0) if log else True)]
    if not len(values):
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        return (low / 1.15, high * 1.15)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1.0):
        wide = abs(low) * 0.1 or 0.5
        return (low - (0 if low in within else wide), high + wide)
    gap = (high - low) * room
    return (low if low in within else low - gap, high if high in within else high + gap)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two others.

    >>> ticks(0.13, 0.47, 4)
    [0.2, 0.3, 0.4]
    """
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(round_ * power for round_ in (1, 2, 5, 10) if round_ * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Ticks with as many decimals as they need to differ.

    >>> tick_texts([0.0, 0.05, 0.1]), tick_texts([0, 50_000]), tick_texts([0, 2_000_000])
    (['0.00', '0.05', '0.10'], ['0', '50,000'], ['0', '2M'])
    """
    if not values:
        return []
    largest = max(abs(value) for value in values)
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if largest >= size:
            return [_trimmed(value / size) + (letter if value else "") for value in values]
    gaps = [abs(b - a) for a, b in pairwise(values) if b != a]
    step = min(gaps) if gaps else largest
    if step and (step < 1e-5 or largest < 1e-4):
        return [f"{value:.2g}" for value in values]
    places = next((n for n in range(6) if abs(round(step, n) - step) <= 1e-9 * step), 5) if step else 0
    return [f"{value:,.{places}f}" for value in values]


def number_text(value: float) -> str:
    """A number in a tooltip or a label.

    >>> number_text(0.12345), number_text(1234.0), number_text(float("nan"))
    ('0.1235', '1,234', 'no value')
    """
    if not math.isfinite(value):
        return "no value" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.2f}"
    return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.2g}"


def p_text(value: float) -> str:
    """A p-value in a sentence, with non-breaking spaces.

    >>> p_text(0.0354).replace("\u00a0", " "), p_text(3.8e-25).replace("\u00a0", " ")
    ('p = 0.035', 'p < 0.001')
    """
    text = f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"
    return text.replace(" ", "\u00a0")


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5)):
        made = (float(f"{step}e{power}") for power in range(first, last + 1) for step in steps)
        found = [value for value in made if low <= value <= high]
        if len(found) >= 3:
            break
    return found


def _trimmed(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")
