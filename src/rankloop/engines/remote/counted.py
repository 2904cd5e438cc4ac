"""What an engine counts for facets and histograms: values, the spread of numbers, and numbers in bins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from rankloop.search import Field
from rankloop.search.index.counts import HIGHEST, Bin, Counts, bin_ends
from rankloop.search.index.match import Filters

__all__ = [
    "KNOWN",
    "PERCENT",
    "Asked",
    "Spread",
    "SpreadOf",
    "Values",
    "Within",
    "check_kinds",
    "count_remote",
    "is_whole",
]

KNOWN = 256  # different numbers of a field up to which it is known whether all are whole
PERCENT = 100 * HIGHEST

Ends = tuple[float, float | None]


@dataclass(frozen=True)
class Values:
    """The k most frequent values of a keyword field with their numbers: a dict."""

    field: str
    k: int


@dataclass(frozen=True)
class SpreadOf:
    """How the numbers of a field are spread: a `Spread`, None where no document has one."""

    field: str


@dataclass(frozen=True)
class Within:
    """How many documents have a number between each of some ends, both included: a list."""

    field: str
    ends: tuple[Ends, ...]


Asked = Values | SpreadOf | Within
Histograms = dict[str, list[Bin]]


class Count(Protocol):
    """Counts what is asked over the documents that pass some filters."""

    def __call__(self, asked: Sequence[Asked], filters: Filters) -> list[Any]: ...


class Spread(NamedTuple):
    """The smallest number, a high quantile, the largest one, and whether all are known to be whole."""

    low: float
    high: float
    top: float
    whole: bool


def count_remote(
    count: Count,
    facets: Iterable[str],
    ranges: Iterable[str],
    *,
    k: int = 10,
    bins: int = 12,
    filters: Filters | None = None,
    own: bool = False,
) -> Counts:
    """Facets and histograms, each field without its own filter; fields with the same filters in one request.

    With `own`, the filter of a field counts there too. A histogram takes two requests: the spread, from
    which round ends are chosen, and the numbers between.
    """
    given = filters or {}
    values: dict[str, dict[str, int]] = {name: {} for name in facets}
    bars: dict[str, list[Bin]] = {name: [] for name in ranges}
    without = {name: None if own or name not in given else name for name in (*values, *bars)}
    for left_out in dict.fromkeys(without.values()):
        by = {name: wanted for name, wanted in given.items() if name != left_out}
        alike = [name for name, its_own in without.items() if its_own == left_out]
        keywords = [name for name in alike if name in values]
        if keywords:
            found = count([Values(name, k) for name in keywords], by)
            values |= zip(keywords, found, strict=True)
        bars |= _histograms(partial(count, filters=by), [name for name in alike if name in bars], bins)
    return Counts(values, bars)


def check_kinds(
    fields: Mapping[str, Field], facets: Iterable[str], ranges: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The names of facets and histograms; facets are of keyword fields, histograms of number fields."""
    asked = list(facets), list(ranges)
    for what, kind, names in zip(("facets", "histograms"), ("keyword", "number"), asked, strict=True):
        known = [name for name, field in fields.items() if field.kind == kind]
        for name in names:
            if name not in known:
                raise ValueError(f"{what} are of {kind} fields ({', '.join(known)}), got {name!r}")
    return asked


def _histograms(count: Callable[[Sequence[Asked]], list[Any]], names: list[str], bins: int) -> Histograms:
    """Histograms by field; none where the engine keeps no columns of its numbers and cannot count them."""
    try:
        spreads: list[Spread | None] = count([SpreadOf(name) for name in names]) if names else []
        ends = [bin_ends(one.low, one.high, one.top, bins, one.whole) if one else [] for one in spreads]
        some = [Within(name, tuple(planned)) for name, planned in zip(names, ends, strict=True) if planned]
        counts: list[list[int]] = count(some) if some else []
    except ValueError:
        return {}
    return {
        one.field: [
            Bin(*between, number) for between, number in zip(one.ends, numbers, strict=True) if number
        ]
        for one, numbers in zip(some, counts, strict=True)
    }


def is_whole(numbers: Sequence[float]) -> bool:
    """Whether the different numbers of a field are whole, and few enough to be all that there are.

    >>> is_whole([1.0, 2.0]), is_whole([1.0, 2.5]), is_whole(range(1000))
    (True, False, False)
    """
    return len(numbers) <= KNOWN and all(float(one).is_integer() for one in numbers)
