"""Named sets of queries; a change makes a new version, and earlier versions stay as they are."""

import csv
import io
import json
import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, insert, select, text

from rankloop._names import unknown
from rankloop.serve.events.shown_page import check_text
from rankloop.serve.events.tables import query_sets

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = [
    "QuerySet",
    "SetQuery",
    "known_sets",
    "put_query_set",
    "query_set",
    "read_queries",
    "write_queries",
]

MOST = 10_000  # queries of a set
_NAME = re.compile(r"[\w.-]{1,60}")
# What programs of tables compute, as it is or with marks before it; some take wide signs as well.
_FORMULA = re.compile("'*[=+@\t\r\uff0d\uff1d\uff0b\uff20-]")


class SetQuery(NamedTuple):
    """A query, its weight in means over the set, and the part of the traffic that it was drawn from."""

    query: str
    weight: float = 1.0
    stratum: str = ""


@dataclass(frozen=True)
class QuerySet:
    """One version of a set; `made` says how its queries were chosen."""

    name: str
    version: int
    time: float
    author: str
    made: str
    queries: tuple[SetQuery, ...]

    @property
    def address(self) -> str:
        """The name with the version, which always means the same queries: `head@2`."""
        return f"{self.name}@{self.version}"

    @property
    def weighted(self) -> bool:
        return len({one.weight for one in self.queries}) > 1


def put_query_set(
    store: "Store", name: str, queries: Iterable[SetQuery], *, author: str, made: str
) -> QuerySet:
    """Add a set, or a new version of one; a query that is listed twice counts once, with both weights."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the name of a set has 1 to 60 letters, digits, dots or dashes, and no blanks; got {name[:70]!r}"
        )
    kept = _checked(queries)
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": name})
        newest = select(func.max(query_sets.c.version)).where(query_sets.c.name == name)
        version = int(connection.execute(newest).scalar() or 0) + 1
        one = QuerySet(name, version, time.time(), author, made[:500], kept)
        row = {**vars(one), "queries": json.dumps(kept)}
        connection.execute(insert(query_sets), row)
    return one


def query_set(store: "Store", address: str) -> QuerySet:
    """A set by name (its newest version) or by name and version: `head` or `head@2`."""
    name, at, version = address.partition("@")
    statement = select(query_sets).where(query_sets.c.name == name)
    if at:
        number = int(version) if version.isdecimal() and len(version) < 7 else 0
        statement = statement.where(query_sets.c.version == number)
    with store.reading() as connection:
        newest = statement.order_by(query_sets.c.version.desc()).limit(1)
        row = connection.execute(newest).mappings().first()
        if row is None:
            known = connection.execute(select(query_sets.c.name).distinct()).scalars().all()
            if name in known:
                raise LookupError(f"the query set {name!r} has no version {version[:20]!r}")
            if not known:
                raise LookupError("there is no query set yet; make one on the page /queries of the service")
            raise LookupError(str(unknown("query set", address, known)))
    queries = tuple(SetQuery(*one) for one in json.loads(row["queries"]))
    return QuerySet(**{**row, "queries": queries})


def known_sets(store: "Store") -> list[QuerySet]:
    """The newest version of each set, by name."""
    with store.reading() as connection:
        names = connection.execute(select(query_sets.c.name).distinct()).scalars().all()
    return [query_set(store, name) for name in sorted(names)]


def read_queries(content: str) -> list[SetQuery]:
    """The queries of a file: one a line, with a weight after a tab; or CSV with a column `query`.

    >>> read_queries("red shoes\\nhat\\t2.5\\n")
    [SetQuery(query='red shoes', weight=1.0, stratum=''), SetQuery(query='hat', weight=2.5, stratum='')]
    >>> read_queries("query,weight\\n\\"red, shoes\\",3\\n")
    [SetQuery(query='red, shoes', weight=3.0, stratum='')]
    """
    lines = content.lstrip("\ufeff").splitlines()
    try:
        return _read_lines(lines)
    except csv.Error as error:
        raise ValueError(f"the queries cannot be read: {error}; write one a line") from None


def _read_lines(lines: Sequence[str]) -> list[SetQuery]:
    head = next(csv.reader(lines[:1]), []) if lines else []
    if "query" in head:
        rows = csv.DictReader(lines)
        return [
            SetQuery(
                _as_typed(str(row["query"] or "")),
                _weight(row.get("weight"), at),
                _as_typed(str(row.get("stratum") or "")),
            )
            for at, row in enumerate(rows, 2)
            if (row["query"] or "").strip()
        ]
    split = ((at, *line.partition("\t")) for at, line in enumerate(lines, 1) if line.strip())
    return [SetQuery(query, _weight(weight if tab else None, at)) for at, query, tab, weight in split]


def write_queries(queries: Sequence[SetQuery]) -> str:
    """The queries as CSV, which `read_queries` reads; none is a formula for a program of tables.

    >>> write_queries([SetQuery("=1+1")]).splitlines()[1], read_queries(write_queries([SetQuery("=1+1")]))
    ("'=1+1,1.0,", [SetQuery(query='=1+1', weight=1.0, stratum='')])
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(SetQuery._fields)
    table.writerows((_as_text(one.query), repr(one.weight), _as_text(one.stratum)) for one in queries)
    return out.getvalue()


def _as_text(typed: str) -> str:
    """What strangers typed with a mark before it where it would be a formula."""
    return f"'{typed}" if _FORMULA.match(typed) else typed


def _as_typed(text: str) -> str:
    """The text that `_as_text` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _weight(given: str | None, line: int) -> float:
    if given is None or not given.strip():
        return 1.0
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"line {line}: a weight is a number above 0, got {given[:20]!r}") from None


def _checked(queries: Iterable[SetQuery]) -> tuple[SetQuery, ...]:
    kept: dict[str, SetQuery] = {}
    for one in queries:
        query = " ".join(one.query.split())
        check_text("query", query, 500)
        check_text("stratum", one.stratum, 100)
        if not 0 < one.weight < math.inf:
            raise ValueError(f"the weight of a query is a number above 0, got {one.weight} for {query!r}")
        if query:
            before = kept[query].weight if query in kept else 0.0
            kept[query] = SetQuery(query, before + one.weight, one.stratum)
    if not 0 < len(kept) <= MOST:
        raise ValueError(f"a set has 1 to {MOST:,} queries, got {len(kept):,}")
    return tuple(kept.values())
