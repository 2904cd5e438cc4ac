"""What is known of a version against another besides judgments: experiments, and metrics of their making."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["Measured", "Tried", "measured", "tried"]

EXPERIMENTS = 3  # the last ones


@dataclass(frozen=True)
class Tried:
    """An experiment of a version against another: how much better it was, with ends that hold at any look."""

    interleaved: bool
    running: bool
    pages: int
    difference: float
    low: float
    high: float
    winner: str | None

    @property
    def endless(self) -> bool:
        """Whether the interval is all that a difference can be: people are too few."""
        return self.high - self.low >= 2.0


class Measured(NamedTuple):
    """A metric that both versions were measured by when they were made."""

    name: str
    value: float
    other: float


def tried(service: "Service", version: str, other: str) -> list[Tried]:
    """The last experiments between two versions that have pages of both."""
    found: list[Tried] = []
    for one in service.experiments.every():
        if {one.a, one.b} != {version, other} or len(found) == EXPERIMENTS:
            continue
        progress = service.experiments.progress(one)
        verdict: Mapping[str, Any] = progress.verdict or {}
        difference, low, high = (float(verdict.get(name) or 0.0) for name in ("difference", "low", "high"))
        if not verdict or not all(map(isfinite, (difference, low, high))):
            continue
        if one.b == version:
            difference, low, high = -difference, -high, -low
        interleaved = one.kind == "interleave"
        found.append(
            Tried(interleaved, one.ended is None, progress.pages, difference, low, high, verdict["winner"])
        )
    return found


def measured(version: "Version", other: "Version") -> list[Measured]:
    """The metrics that both have in their lineage.

    >>> from types import SimpleNamespace as Made
    >>> new, old = ({"metrics": {"ndcg@10": [value, 0.1, 0.9]}} for value in (0.3, 0.5))
    >>> measured(Made(lineage=new), Made(lineage=old))
    [Measured(name='ndcg@10', value=0.3, other=0.5)]
    """
    ours, theirs = (_metrics(one.lineage) for one in (version, other))
    return [Measured(name, ours[name], theirs[name]) for name in ours if name in theirs]


def _metrics(lineage: Mapping[str, Any]) -> dict[str, float]:
    """Metrics by name; those with an interval have it after the value."""
    given = lineage.get("metrics")
    values = given.items() if isinstance(given, Mapping) else ()
    plain = {str(name): one[0] if isinstance(one, list | tuple) and one else one for name, one in values}
    return {name: float(one) for name, one in plain.items() if isinstance(one, int | float)}
