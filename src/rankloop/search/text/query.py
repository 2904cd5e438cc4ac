"""The query language: words, "phrases", field:value, -not, prefix*; parsing never fails."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from rankloop._arrays import Singles
from rankloop.search.deadline import Deadline
from rankloop.search.field import Field, seconds

__all__ = ["Clause", "Query", "as_query", "span_of"]

_PIECE = re.compile(r'([-+]?)(?:([^\W\d][\w-]*):)?(?:"([^"]*)"?|(\S+))')
_COMPARE = re.compile(r"(>=|<=|>|<)(.+)")


@dataclass(frozen=True)
class Clause:
    """One piece of a query: a `word`, `phrase` or `prefix`, a keyword `value`, or a `range` of numbers."""

    kind: str
    text: str
    field: str | None = None
    excluded: bool = False
    required: bool = False
    low: float = -math.inf
    high: float = math.inf

    @property
    def written(self) -> str:
        """The clause in the query language.

        >>> [c.written for c in Query.parse('red +shoes -"old ones" run*').clauses]
        ['red', '+shoes', '-"old ones"', 'run*']
        """
        sign = "-" if self.excluded else ""
        if self.required and not self.excluded and self.field is None and self.kind in ("word", "prefix"):
            sign = "+"
        quoted = self.kind == "phrase" or (self.kind == "value" and len(self.text.split()) > 1)
        text = f'"{self.text}"' if quoted else f"{self.text}*" if self.kind == "prefix" else self.text
        return f"{sign}{self.field}:{text}" if self.field else f"{sign}{text}"


@dataclass(frozen=True)
class Query:
    """A query: its text, its clauses, and vectors by field where they are known.

    The query of candidates is as it was understood, with words corrected and completed; where that differs
    from what was typed, `typed` is the query as it came, and `finds` are the clauses that candidates were
    found by: the same, with every prefix that the user wrote. `at` is its time (seconds since 1970), `user`
    holds numbers about the user; both are for features. A search that is not done by the `deadline` is
    cancelled; `cut` says which parts of the query were ignored.
    """

    text: str
    clauses: tuple[Clause, ...] = ()
    vectors: Mapping[str, Singles] = field(default_factory=dict, compare=False, hash=False)
    at: float | None = None
    user: Mapping[str, float] = field(default_factory=dict, compare=False, hash=False)
    deadline: Deadline | None = field(default=None, compare=False, hash=False)
    cut: tuple[str, ...] = ()
    typed: "Query | None" = field(default=None, compare=False, hash=False)
    finds: tuple[Clause, ...] = field(default=(), compare=False, hash=False)

    @classmethod
    def of_words(cls, text: str) -> "Query":
        """A text of which every piece is a word: the query language does not apply.

        >>> [(c.text, c.excluded) for c in Query.of_words('methods -dash "exact').clauses]
        [('methods', False), ('-dash', False), ('"exact', False)]
        """
        return cls(text, tuple(Clause("word", word) for word in text.split()))

    @classmethod
    def parse(cls, text: str, fields: Mapping[str, Field] | None = None) -> "Query":
        """A query as people type it; a piece that is not understood is a word.

        `+word` and `"a phrase"` must match, `-word` must not, `prefix*` matches beginnings. A known field
        takes a value (`genre:drama`, `title:"red shoes"`), a number or range (`price:10..20`, `price:>=10`),
        a date or part of one (`released:2024`, `released:2024-05..2024-08`).

        >>> from rankloop.search.field import read_fields
        >>> known = read_fields({"title": "text", "price": "number"})
        >>> [(c.kind, c.text, c.excluded) for c in Query.parse('red "running shoes" -old -"', known).clauses]
        [('word', 'red', False), ('phrase', 'running shoes', False), ('word', 'old', True)]
        >>> Query.parse("price:10..20", known).clauses[0].high
        20.0
        """
        known = fields or {}
        clauses = []
        for sign, name, quoted, bare in _PIECE.findall(text):
            if not (quoted or bare):
                continue
            excluded, required = sign == "-", sign == "+"
            if name and name not in known:
                bare, quoted, name = f"{name}:{bare or quoted}", "", ""
            kind = known[name].kind if name else "text"
            value = quoted or bare
            found = None
            if kind in ("number", "date"):
                low_high = span_of(kind, value)
                if low_high is None:
                    value = f"{name} {value}"
                else:
                    found = Clause("range", value, name, excluded, True, *low_high)
            elif kind == "keyword":
                found = Clause("value", value, name, excluded, True)
            elif kind == "text":
                inside = name or None
                must = required or bool(name)
                if quoted:
                    found = Clause("phrase", quoted, inside, excluded, True)
                elif len(bare) > 1 and bare.endswith("*"):
                    found = Clause("prefix", bare.rstrip("*"), inside, excluded, must)
                else:
                    found = Clause("word", bare, inside, excluded, must)
            clauses.append(found or Clause("word", value, None, excluded, required))
        return cls(text, tuple(clause for clause in clauses if clause.text))

    @property
    def plain(self) -> str:
        """The words to search by, without operators."""
        return " ".join(
            c.text for c in self.clauses if c.kind in ("word", "phrase", "prefix") and not c.excluded
        )

    @property
    def understood(self) -> str | None:
        """The text, if words were corrected or completed; None if it is as it was typed."""
        same = self.typed is None or self.typed.text.split() == self.text.split()
        return None if same else self.text

    @property
    def finding(self) -> "Query":
        """The query that candidates are found by: corrected, with prefixes as they were written."""
        return self if self.typed is None else replace(self, clauses=self.finds, typed=None, finds=())

    def at_most(self, clauses: int) -> "Query":
        """The query with its first different clauses; `cut` says how many are ignored.

        >>> Query.of_words("a b a c").at_most(2).plain, Query.of_words("a b a c").at_most(2).cut
        ('a b a', ('the first 2 of 3 different words and conditions count',))
        """
        different = len(self.clauses) if len(self.clauses) <= clauses else len(set(self.clauses))
        if different <= clauses:
            return self
        kept = set(list(dict.fromkeys(self.clauses))[:clauses])
        note = f"the first {clauses} of {different} different words and conditions count"
        return replace(self, clauses=tuple(c for c in self.clauses if c in kept), cut=(*self.cut, note))

    def check_time(self) -> None:
        """Go on, or raise `DeadlineExceeded` if the query has a deadline that has passed."""
        if self.deadline is not None:
            self.deadline.check()


def span_of(kind: str, value: str) -> tuple[float, float] | None:
    """The smallest and largest number (or second) that a value means; None if it is not one.

    >>> span_of("number", ">=3"), span_of("number", "..7"), span_of("number", "cheap")
    ((3.0, inf), (-inf, 7.0), None)
    """
    compared = _COMPARE.fullmatch(value)
    try:
        if compared:
            low, high = _ends(kind, compared[2])
            return {
                ">=": (low, math.inf),
                ">": (math.nextafter(high, math.inf), math.inf),
                "<=": (-math.inf, high),
                "<": (-math.inf, math.nextafter(low, -math.inf)),
            }[compared[1]]
        first, dots, last = value.partition("..")
        if not dots:
            return _ends(kind, first)
        low = _ends(kind, first)[0] if first else -math.inf
        return low, _ends(kind, last)[1] if last else math.inf
    except (ValueError, OverflowError):
        return None


def _ends(kind: str, value: str) -> tuple[float, float]:
    if kind == "number":
        number = float(value)
        if math.isnan(number):
            raise ValueError(value)
        return number, number
    parts = [int(part) for part in value.split("-")] if re.fullmatch(r"\d{4}(-\d\d?){0,2}", value) else None
    if parts is None:
        time = seconds(value)
        return time, time
    year, month, day = (*parts, 1, 1)[:3]
    start = datetime(year, month, day, tzinfo=UTC)
    if len(parts) == 1:
        end = datetime(parts[0] + 1, 1, 1, tzinfo=UTC).timestamp()
    elif len(parts) == 2:
        end = datetime(parts[0] + parts[1] // 12, parts[1] % 12 + 1, 1, tzinfo=UTC).timestamp()
    else:
        end = start.timestamp() + 86_400
    return start.timestamp(), math.nextafter(end, -math.inf)


def as_query(query: "str | Query", fields: Mapping[str, Field]) -> Query:
    """A query from text; one that is parsed already stays as it is."""
    if isinstance(query, Query):
        return query
    if not isinstance(query, str):
        raise ValueError(f"a query is text or a Query, got {type(query).__name__}; did you mean str(query)?")
    return Query.parse(query, fields)
