"""Deployment only past a confidence bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop.interleaving import always_valid
from rankloop.interleaving.sequential.boundary import LEAST_PEOPLE

__all__ = ["Gate", "GateDecision"]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What a confidence interval says about a bar: deploy above it, reject below it, else go on.

    `people` is how many people the interval rests on, where it is one of interleaved credit.

    >>> GateDecision(0.1, 0.3).deploy, GateDecision(-0.3, -0.1).reject
    (True, True)
    """

    low: float
    high: float
    bar: float = 0.0
    people: int | None = None

    @property
    def deploy(self) -> bool:
        """Whether the whole interval lies above the bar."""
        return self.low > self.bar and not self._few

    @property
    def reject(self) -> bool:
        """Whether the whole interval lies below the bar."""
        return self.high < self.bar and not self._few

    @property
    def _few(self) -> bool:
        return self.people is not None and self.people < LEAST_PEOPLE

    def __str__(self) -> str:
        action = "deploy" if self.deploy else "reject" if self.reject else "go on"
        return (
            f"{action}: mean difference of credit in [{self.low:+.3f}, {self.high:+.3f}] "
            f"after {self.people or 0:,} people"
        )


class Gate:
    """Deploys a challenger when the interval of its gain in interleaved credit is above 0, at any look.

    `margin` asks for a gain above it; `no_worse` turns it into a non-inferiority gate at -`margin`.

    >>> gate = Gate()
    >>> str(gate.decide([1] * 250 + [-1] * 50))
    'deploy: mean difference of credit in [+0.507, +0.826] after 300 people'
    """

    def __init__(self, *, confidence: float = 0.95, margin: float = 0.0, no_worse: bool = False) -> None:
        if not 0 <= margin < 1:
            raise ValueError(f"margin lies in [0, 1), got {margin}")
        self.confidence, self.margin, self.no_worse = confidence, margin, no_worse

    def decide(self, outcomes: ArrayLike, *, users: Sequence[Any] | None = None) -> GateDecision:
        """From one outcome per page in order of time: the challenger's credit minus the other's.

        Pages of one person are alike: with `users` each person counts once (`always_valid`).
        """
        bar = -self.margin if self.no_worse else self.margin
        gaps = np.asarray(outcomes, np.float64).reshape(-1)
        if not len(gaps):
            return GateDecision(-1.0, 1.0, bar, 0)
        credits = np.column_stack([gaps, np.zeros(len(gaps))])
        bounds = always_valid(credits, users=users, confidence=self.confidence)
        return GateDecision(bounds.low, bounds.high, bar, bounds.people)
