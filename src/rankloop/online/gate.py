"""Deployment only past a confidence bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop.interleaving import always_valid

__all__ = ["Gate", "GateDecision"]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What a confidence interval says about a bar: deploy above it, reject below it, else go on.

    `pages` is how many decided pages the interval rests on, where it is a share of wins.

    >>> GateDecision(0.1, 0.3, bar=0.0).deploy, GateDecision(-0.3, -0.1, bar=0.0).reject
    (True, True)
    """

    low: float
    high: float
    bar: float = 0.5
    pages: int = 0

    @property
    def deploy(self) -> bool:
        """Whether the whole interval lies above the bar."""
        return self.low > self.bar

    @property
    def reject(self) -> bool:
        """Whether the whole interval lies below the bar."""
        return self.high < self.bar

    def __str__(self) -> str:
        action = "deploy" if self.deploy else "reject" if self.reject else "go on"
        return (
            f"{action}: share of wins in [{self.low:.3f}, {self.high:.3f}] after {self.pages} decided pages"
        )


class Gate:
    """Opens when the interval of the challenger's share of interleaved wins lies above 1/2, at any look.

    `margin` asks for more than a half; `no_worse` turns it into a non-inferiority gate at 1/2 - `margin`.

    >>> gate = Gate()
    >>> str(gate.decide([1] * 30 + [-1] * 3))
    'deploy: share of wins in [0.545, 0.999] after 33 decided pages'
    """

    def __init__(self, *, confidence: float = 0.95, margin: float = 0.0, no_worse: bool = False) -> None:
        if not 0 <= margin < 0.5:
            raise ValueError(f"margin lies in [0, 0.5), got {margin}")
        self.confidence, self.margin, self.no_worse = confidence, margin, no_worse

    def decide(self, outcomes: ArrayLike, *, users: Sequence[Any] | None = None) -> GateDecision:
        """From one outcome per page: above 0 the challenger won, below 0 it lost.

        Pages of one person are alike: with `users` each counts once (`always_valid`).
        """
        bar = 0.5 - self.margin if self.no_worse else 0.5 + self.margin
        signs = np.sign(np.asarray(outcomes, np.float64).reshape(-1))
        if not len(signs):
            return GateDecision(0.0, 1.0, bar)
        credits = np.column_stack([signs, np.zeros(len(signs))])
        bounds = always_valid(credits, users=users, confidence=self.confidence)
        return GateDecision(0.5 + bounds.low, 0.5 + bounds.high, bar, int(np.count_nonzero(signs)))
