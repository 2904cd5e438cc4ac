"""A query in Solr's JSON query language."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from rankloop.engines.requests.query_writer import Json, QueryWriter
from rankloop.search import Query
from rankloop.search.text.query import Clause

__all__ = ["SolrWriter", "ids_query", "quoted", "range_query"]

EVERYTHING: Json = {"lucene": {"query": "*:*"}}
_APART = "\x1f"  # between ids
SHORT, LONG = 4, 8  # letters from which a word may have one and two edits


def ids_query(name: str, ids: list[str]) -> Json:
    """The documents with given ids."""
    return {"terms": {"f": name, "separator": _APART, "query": _APART.join(ids)}}


def quoted(text: str) -> str:
    """A text inside the local parameters of a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class SolrWriter(QueryWriter):
    """The sum of the weighted BM25 of each word in each field."""

    def write(self, query: Query) -> tuple[Json, list[Json]] | None:
        """What scores and what filters; None if nothing is searched for."""
        should = self._scored(query)
        needed = [one for one in query.clauses if not one.excluded and self._needed(one)]
        filters = [clause for one in needed if (clause := self._clause(one))]
        excluded = [clause for one in query.clauses if one.excluded and (clause := self._clause(one))]
        wanted = any(not one.excluded and one.kind in ("value", "range") for one in query.clauses)
        if not should and not wanted and not excluded:
            return None
        if excluded:
            filters.append({"bool": {"must": [EVERYTHING], "must_not": excluded}})
        return {"bool": {"should": should}} if should else EVERYTHING, filters

    def understood(self, query: Query) -> str:
        """The query as it was searched, for people."""
        words = [one.text for one in query.clauses if one.kind in ("word", "phrase") and not one.excluded]
        others = [
            f"{'not ' if one.excluded else ''}{one.field or 'any field'}: {one.text}"
            for one in query.clauses
            if one.excluded or one.kind != "word"
        ]
        found = [f"{' '.join(words)} in {', '.join(self.weights)}"] if words else []
        return self._and_misspelt("; ".join([*found, *others]))

    def _scored(self, query: Query) -> list[Json]:
        clauses: list[Json] = []
        everywhere = _words(query, None)
        if everywhere:
            boosted = " ".join(f"{name}^{weight:g}" for name, weight in self.weights.items())
            clauses.append(_simple(boosted, everywhere))
        for name, field in self.fields.items():
            if field.kind != "text":
                continue
            if inside := _words(query, name):
                clauses.append(_simple(f"{name}^{self.weights.get(name, 1.0):g}", inside))
            for one in query.clauses:
                searched = one.field == name or (one.field is None and name in self.weights)
                if one.kind == "prefix" and not one.excluded and searched:
                    clauses.append(self._prefix(name, one.text))
                elif one.kind == "word" and not one.excluded and searched:
                    clauses += self._near(name, one.text)
        return clauses

    def _near(self, name: str, text: str) -> list[Json]:
        """Words like those of a text that are misspelt, as terms, which Solr does not stem here."""
        analyser = self._analyser(name)
        wrong = [word for word in text.split() if word in self.misspelt]
        terms = dict.fromkeys(term for word in wrong for term in (*analyser.terms(word), word.casefold()))
        return [
            {"lucene": {"df": name, "query": f"{term}~{1 if len(term) < LONG else 2}"}}
            for term in terms
            if term.isalpha() and len(term) >= SHORT
        ]

    def _prefix(self, name: str, text: str) -> Json:
        return {"prefix": {"f": name, "query": self._analyser(name).prefix(text)}}

    def _clause(self, clause: Clause) -> Json | None:
        """The documents that satisfy a clause; a word that no analyser keeps constrains nothing."""
        if clause.kind == "value":
            return {"term": {"f": str(clause.field), "query": clause.text}}
        if clause.kind == "range":
            return range_query(
                str(clause.field), clause.low, clause.high, self.fields[str(clause.field)].kind
            )
        names = [clause.field] if clause.field else list(self.weights)
        if clause.kind == "prefix":
            return _any([self._prefix(name, clause.text) for name in names])
        kept = self._with_terms(names, clause.text)
        if clause.kind == "phrase":
            return _any([{"field": {"f": name, "query": clause.text}} for name in kept])
        near = [one for name in kept for one in self._near(name, clause.text)]
        return _any([*(_simple(name, clause.text, every=True) for name in kept), *near])

    def _has_value(self, name: str, values: list[str]) -> Json:
        return ids_query(name, values)

    def _between(self, name: str, low: float, high: float, kind: str) -> Json:
        return range_query(name, low, high, kind)


def _words(query: Query, field: str | None) -> str:
    return " ".join(
        one.text
        for one in query.clauses
        if one.kind in ("word", "phrase") and not one.excluded and one.field == field
    )


def _simple(fields: str, words: str, *, every: bool = False) -> Json:
    """Words in fields, without operators: whatever people type is a word."""
    how = {"q.op": "AND" if every else "OR", "q.operators": "WHITESPACE"}
    return {"simple": {"qf": fields, **how, "query": words}}


def _any(clauses: list[Json]) -> Json | None:
    if len(clauses) < 2:
        return clauses[0] if clauses else None
    return {"bool": {"should": clauses}}


def range_query(name: str, low: float, high: float, kind: str) -> Json:
    """Documents with a number or a moment between two ends, both included; infinite ends are open."""
    start, end = (_end(one, kind) for one in (low, high))
    return {"lucene": {"query": f"{name}:[{start} TO {end}]"}}


def _end(value: float, kind: str) -> str:
    if math.isinf(value):
        return "*"
    if kind == "date":
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return repr(value)
