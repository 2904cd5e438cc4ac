"""What the writers of queries for two engines share: searched fields, and filters by kind of field."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloop.search import Analyser, Field
from rankloop.search.field import seconds
from rankloop.search.index.match import Filters
from rankloop.search.text.query import Clause

__all__ = ["Json", "QueryWriter"]

Json = dict[str, Any]
FILTERED = ("keyword", "number", "date")


@dataclass(frozen=True)
class QueryWriter(ABC):
    """Writes queries over searched text fields with their `weights`.

    For the words in `misspelt`, words that are one or two letters away are found too.
    """

    fields: Mapping[str, Field]
    analyser: Analyser
    weights: Mapping[str, float]
    match: str = "any"
    misspelt: frozenset[str] = frozenset()

    def filters(self, filters: Filters) -> list[Json]:
        """Filters by field: values of keywords, one number or date, or a pair of ends."""
        return [self._filter(name, wanted) for name, wanted in filters.items()]

    def _filter(self, name: str, wanted: Any) -> Json:
        field = self.fields.get(name)
        if field is None or field.kind not in FILTERED:
            known = [one for one, kind in self.fields.items() if kind.kind in FILTERED]
            raise ValueError(
                f"filters are on keyword, number and date fields ({', '.join(known)}), got {name!r}"
            )
        if field.kind == "keyword":
            values = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            return self._has_value(name, field.convert(list(values)))
        low, high = wanted if isinstance(wanted, tuple | list) and len(wanted) == 2 else (wanted, wanted)
        number = seconds if field.kind == "date" else float
        ends = (-math.inf if low is None else number(low), math.inf if high is None else number(high))
        return self._between(name, *ends, field.kind)

    @abstractmethod
    def _has_value(self, name: str, values: list[str]) -> Json:
        """The documents with one of some values in a keyword field."""

    @abstractmethod
    def _between(self, name: str, low: float, high: float, kind: str) -> Json:
        """The documents with a number or date between two ends, both included; infinite ends are open."""

    def _analyser(self, name: str) -> Analyser:
        return self.fields[name].analyser or self.analyser

    def _with_terms(self, names: list[str], text: str) -> list[str]:
        """The fields whose analyser keeps something of a text."""
        return [name for name in names if self._analyser(name).terms(text)]

    def _needed(self, clause: Clause) -> bool:
        return clause.required or clause.kind == "phrase" or self.match == "all"

    def _and_misspelt(self, understood: str) -> str:
        wrong = ", ".join(sorted(self.misspelt))
        return understood + (f"; also words like {wrong}" if wrong else "")
