"""The search in the address of a page: a query, filters, an order, how many results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from urllib.parse import urlencode

from rankloop.search import Field
from rankloop.search.index.sort_field import SCORE
from rankloop.serve.http.schema import MOST_RESULTS, FilterValue, Range

__all__ = ["SearchAddress"]

FILTER, FROM, TO = "f.", "from.", "to."
LONGEST = 500  # characters of a value
MOST = 100  # filters; every link of the page repeats them


@dataclass(frozen=True)
class SearchAddress:
    """A search as it is written in an address: `?q=red+shoes&f.brand=Hare&f.price=10..50&sort=-price&k=20`.

    A form sends a range in two parts, `from.price=10&to.price=50`. An address with an empty `q` browses.

    >>> address = SearchAddress.of([("q", "red shoes"), ("f.brand", "Hare")], k=10)
    >>> address.chosen
    (('f.brand', 'Hare'),)
    >>> address.toggled("brand", "Hare").href
    '/?q=red+shoes'
    """

    query: str
    chosen: tuple[tuple[str, str], ...] = ()
    k: int = 10
    usual: int = 10
    most: int = MOST_RESULTS
    sort: str = ""
    browse: bool = False

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], k: int, most: int = MOST_RESULTS) -> "SearchAddress":
        """The search in the pairs of an address; without a valid `k` it has the usual number of results."""
        given = dict(pairs)
        typed = {name.partition(".")[2] for name, _ in pairs if name.startswith((FROM, TO))}
        chosen = dict.fromkeys(
            (name, value)
            for name, value in pairs
            if name.startswith(FILTER) and value and name.removeprefix(FILTER) not in typed
        )
        for name in sorted(typed):
            low, high = (given.get(end + name, "").strip() for end in (FROM, TO))
            if low or high:
                chosen[FILTER + name, f"{low}..{high}"] = None
        if len(chosen) > MOST:
            raise ValueError(f"an address has at most {MOST} filters, got {len(chosen):,}; remove some")
        many = given.get("k", "")
        results = min(max(int(many), 1), most) if many.isdecimal() and len(many) < 5 else k
        query, sort = " ".join(given.get("q", "").split()), given.get("sort", "")[:LONGEST]
        order = "" if sort == SCORE else sort
        return cls(query, tuple(chosen), results, k, most, order, browse="q" in given and not query)

    @property
    def asked(self) -> bool:
        """Whether there is anything to search for or to browse."""
        return bool(self.query or self.chosen or self.sort or self.browse)

    @property
    def href(self) -> str:
        """The address of this search."""
        many = [("k", str(self.k))] if self.k != self.usual else []
        return "/?" + urlencode([("q", self.query), *self.others(), *many])

    def others(self, without: str = "") -> tuple[tuple[str, str], ...]:
        """What a form sends beside the query: filters and order, `without` one of them."""
        order = (("sort", self.sort),) if self.sort and without != "sort" else ()
        return (*(pair for pair in self.chosen if pair[0] != FILTER + without), *order)

    def toggled(self, field: str, value: str) -> "SearchAddress":
        """The same with a filter added, or removed if it was there."""
        one = (FILTER + field, value)
        others = tuple(pair for pair in self.chosen if pair != one)
        return replace(
            self, chosen=others if len(others) < len(self.chosen) else (*others, one), k=self.usual
        )

    def ranged(self, field: str, low: str, high: str) -> "SearchAddress":
        """The same with a range of a field in place of the one that was set."""
        others = tuple(pair for pair in self.chosen if pair[0] != FILTER + field)
        return replace(self, chosen=(*others, (FILTER + field, f"{low}..{high}")), k=self.usual)

    def cleared(self) -> "SearchAddress":
        """The same without filters."""
        return replace(self, chosen=(), k=self.usual)

    def longer(self) -> "SearchAddress":
        """The same with more results."""
        return replace(self, k=min(self.k + max(self.usual, 10), self.most))

    def filters(self, fields: Mapping[str, Field]) -> dict[str, FilterValue]:
        """The filters as a request takes them: one of several values, or a range `low..high`."""
        filters: dict[str, FilterValue] = {}
        for name, value in self.chosen:
            field = name.removeprefix(FILTER)
            if len(value) > LONGEST:
                raise ValueError(f"a filter has at most {LONGEST} characters, got {len(value)}")
            if field in fields and fields[field].kind in ("number", "date"):
                low, dots, high = value.partition("..")
                ends = [_end(field, fields[field].kind, end) for end in ((low, high) if dots else (low, low))]
                filters[field] = Range(min=ends[0], max=ends[1])
            else:
                before = filters.get(field, [])
                filters[field] = [*(before if isinstance(before, list) else []), value]
        return filters


def _end(field: str, kind: str, text: str) -> float | str | None:
    """One end of a range; dates stay text."""
    if not text.strip():
        return None
    if kind == "date":
        return text[:40]
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ValueError(f"{field!r} is filtered by a number or a range like 10..50, got {text[:40]!r}")
    return number
