"""The registry of metrics: functions, their names in strings, and their options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

from rankloop._options import passes_to
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.top_gain import TopGain
from rankloop.metrics.kernels.top_relevant import TopRelevant

__all__ = ["MEASURES", "Measure", "measure", "over"]

F = TypeVar("F", bound=Callable[..., Values])

DATA = ("weight", "pool_labels", "pool_offsets", "judged", "pool_judged", "subtopics")


@dataclass(frozen=True, eq=False)
class Measure:
    """One metric: its function, and its names in strings.

    `reads` is "top" when a cut-off spares looking at the rest of the list, "all" when it does not.
    """

    function: Callable[..., Values]
    names: tuple[str, ...]
    reads: str
    higher_is_better: bool
    bounded: bool
    options: Mapping[str, Any]
    data: tuple[str, ...]


MEASURES: dict[str, Measure] = {}


def measure(
    *names: str, reads: str = "all", higher_is_better: bool = True, bounded: bool = True
) -> Callable[[F], F]:
    """Register a metric under its own name and the names that strings use."""

    def register(function: F) -> F:
        function = passes_to(TopRelevant.__init__, TopGain.__init__)(function)
        given = [p for p in signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        MEASURES[function.__name__] = Measure(
            function=function,
            names=(*names, *(name for name in [function.__name__] if name not in names)),
            reads=reads,
            higher_is_better=higher_is_better,
            bounded=bounded,
            options={p.name: p.default for p in given if p.name not in DATA},
            data=tuple(p.name for p in given if p.name in DATA),
        )
        return function

    return register


def over(lists: MetricLists, metric: Callable[..., Values], **options: Any) -> Values:
    """A metric over lists that are checked already: its `MetricLists.of` takes them as they are."""
    return metric(lists, None, None, **options)
