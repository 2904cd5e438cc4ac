"""What narrows and orders a list: facets, ranges with their histograms, the order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rankloop.search import Field
from rankloop.serve.http.range_count import RangeCount
from rankloop.serve.pages.address import FILTER, SearchAddress

__all__ = [
    "CHOICES",
    "MORE",
    "Bar",
    "Choice",
    "Facet",
    "Order",
    "Span",
    "facet_fields",
    "facets",
    "orders",
    "range_fields",
    "spans",
]

FACETS, CHOICES, SPANS = 4, 8, 3
MORE = 50  # values of a facet that are shown below the first ones
WIDTH, HEIGHT = 100, 28  # of a histogram


@dataclass(frozen=True)
class Choice:
    """A filter to add or to remove."""

    name: str
    value: str
    href: str
    count: int = 0
    chosen: bool = False


@dataclass(frozen=True)
class Facet:
    """Values to choose from: the first ones, the rest, and how many are not shown."""

    name: str
    choices: tuple[Choice, ...]
    rest: tuple[Choice, ...] = ()
    hidden: int = 0


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: a range to set."""

    href: str
    words: str
    count: int
    x: float
    width: float
    height: float
    within: bool


@dataclass(frozen=True)
class Span:
    """A range to set: its ends now, its histogram, and the other fields of the form."""

    name: str
    kind: str
    low: str
    high: str
    others: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    open: bool


@dataclass(frozen=True)
class Order:
    """A way to sort the results."""

    value: str
    name: str
    falling: bool
    kind: str
    chosen: bool


def facet_fields(fields: Mapping[str, Field]) -> list[str]:
    """The fields that are offered as filters."""
    return [name for name, field in fields.items() if field.kind == "keyword"][:FACETS]


def range_fields(fields: Mapping[str, Field]) -> list[str]:
    """The number fields whose ranges are shown with a histogram."""
    return [name for name in _ranged(fields) if fields[name].kind == "number"]


def _ranged(fields: Mapping[str, Field]) -> list[str]:
    return [name for name, field in fields.items() if field.kind in ("number", "date")][:SPANS]


def facets(
    counts: Mapping[str, Mapping[str, int]], address: SearchAddress, more: int = MORE
) -> Iterable[Facet]:
    """Fields with a value that several results share, or with a chosen filter; what is chosen comes first.

    Below the first few values of each there are `more`.
    """
    for name, values in counts.items():
        chosen = [value for key, value in address.chosen if key == FILTER + name]
        known = {value.casefold(): value for value in values}
        shown = dict.fromkeys(known.get(value.casefold(), value) for value in chosen)
        shown |= dict.fromkeys(value for value in values if value not in shown)
        folded = {value.casefold() for value in chosen}
        first = max(CHOICES, len(folded))
        choices = [
            Choice(
                name,
                value,
                address.toggled(name, value).href,
                values.get(value, 0),
                value.casefold() in folded,
            )
            for value in list(shown)[: first + more]
        ]
        divides = len(choices) > 1 and max(choice.count for choice in choices) > 1
        if divides or chosen:
            rest = tuple(choices[first:])
            yield Facet(name, tuple(choices[:first]), rest, len(shown) - first - len(rest))


def spans(
    fields: Mapping[str, Field], ranges: Mapping[str, Sequence[RangeCount]], address: SearchAddress
) -> Iterable[Span]:
    """Number and date fields, the first few."""
    for at, name in enumerate(_ranged(fields)):
        set_now = next((value for key, value in address.chosen if key == FILTER + name), "")
        low, dots, high = set_now.partition("..")
        ends = (low, high if dots else low)
        bars = tuple(_bars(name, ranges.get(name, ()), address, ends))
        others = (("q", address.query), *address.others(without=name))
        yield Span(name, fields[name].kind, *ends, others, bars, bool(low or high or (not at and bars)))


def _bars(
    name: str, counts: Sequence[RangeCount], address: SearchAddress, ends: tuple[str, str]
) -> Iterable[Bar]:
    """The bars of a histogram, in its own units of width and height; empty bins leave a gap."""
    if not counts:
        return
    widths = [one.max - one.min for one in counts if one.max is not None] or [1.0]
    step = max(widths)
    first = counts[0].min
    bins = max(round((counts[-1].min - first) / step), len(counts) - 1) + 1 if step else len(counts)
    most = max(one.count for one in counts)
    low, high = _end(ends[0], float("-inf")), _end(ends[1], float("inf"))
    for one in counts:
        start, stop = _number(one.min), "" if one.max is None else _number(one.max)
        place = min(round((one.min - first) / step) if step else 0, bins - 1)
        yield Bar(
            href=address.ranged(name, start, stop).href,
            words=f"{start} and more" if one.max is None else f"{start} to {stop}",
            count=one.count,
            x=WIDTH * place / bins,
            width=0.88 * WIDTH / bins,
            height=max(1.5, HEIGHT * one.count / most),
            within=low <= one.min and (one.max or one.min) <= high,
        )


def _end(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _number(value: float) -> str:
    """A number as it is written in an address.

    >>> _number(20.0), _number(0.3), _number(-2.5e20)
    ('20', '0.3', '-2.5e+20')
    """
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else repr(value)


def orders(fields: Mapping[str, Field], address: SearchAddress) -> list[Order]:
    """The ways to sort, of the first few number and date fields; both ends of each."""
    found = []
    for name in _ranged(fields):
        for falling in (False, True):
            value = f"-{name}" if falling else name
            found.append(Order(value, name, falling, fields[name].kind, value == address.sort))
    if address.sort and not any(one.chosen for one in found):  # another field, from the address
        name = address.sort.removeprefix("-")
        kind = fields[name].kind if name in fields else "number"
        found.append(Order(address.sort, name, address.sort.startswith("-"), kind, chosen=True))
    return found
