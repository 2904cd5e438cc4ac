"""The registry of metrics: names, options, and bodies over checked lists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

from rankloop.metrics.kernels.lists import Values

__all__ = ["MEASURES", "Measure", "measure"]

F = TypeVar("F", bound=Callable[..., Values])

DATA = ("weight", "pool_labels", "pool_offsets", "judged", "pool_judged", "subtopics")


@dataclass(frozen=True, eq=False)
class Measure:
    """One metric: the public function, its body over checked lists, and its names in strings.

    `reads` is "top" when a cut-off spares looking at the rest of the list, "all" when it does not.
    """

    function: Callable[..., Values]
    per_list: Callable[..., Values]
    names: tuple[str, ...]
    reads: str
    higher_is_better: bool
    bounded: bool
    options: Mapping[str, Any]
    data: tuple[str, ...]


MEASURES: dict[str, Measure] = {}


def measure(
    function: Callable[..., Values],
    *names: str,
    reads: str = "all",
    higher_is_better: bool = True,
    bounded: bool = True,
) -> Callable[[F], F]:
    """Register the body of a metric under the names that strings use; options are those of `function`."""

    def register(per_list: F) -> F:
        given = [p for p in signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        MEASURES[function.__name__] = Measure(
            function=function,
            per_list=per_list,
            names=(*names, *(name for name in [function.__name__] if name not in names)),
            reads=reads,
            higher_is_better=higher_is_better,
            bounded=bounded,
            options={p.name: p.default for p in given if p.name not in DATA},
            data=tuple(p.name for p in given if p.name in DATA),
        )
        return per_list

    return register
