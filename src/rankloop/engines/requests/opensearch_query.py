"""A query in the query language of OpenSearch and Elasticsearch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankloop.engines.requests.query_writer import Json, QueryWriter
from rankloop.search import Query
from rankloop.search.index.match import Filters
from rankloop.search.text.query import Clause

__all__ = ["OpenSearchWriter", "has_word", "named_bm25"]


def named_bm25(field: str) -> str:
    """The name of the clause that scores the words of the query in a field: the feature of that name."""
    return f"bm25({field})"


@dataclass(frozen=True)
class OpenSearchWriter(QueryWriter):
    """Words score in every field, as in the embedded index: the sum of the weighted BM25 of each.

    Phrases, words with a plus, values and ranges only filter. Clauses are `named` where the score of each is
    needed, which costs the engine time.
    """

    named: bool = True

    def write(self, query: Query, filters: Filters | None = None) -> Json | None:
        """The body of a search; None if nothing is searched for."""
        should = self._scored(query)
        may = [self._clause(one) for one in query.clauses if not one.excluded and self._needed(one)]
        must_not = [self._clause(one) for one in query.clauses if one.excluded]
        filter_by = [*(one for one in may if one), *self.filters(filters or {})]
        wanted = any(not one.excluded and one.kind in ("value", "range") for one in query.clauses)
        browsed = not query.clauses and bool(filters)
        if not should and not wanted and not must_not and not browsed:
            return None
        body: Json = {"filter": filter_by, "must_not": [one for one in must_not if one]}
        if should:
            body |= {"should": should, "minimum_should_match": 1}
        elif not filter_by:
            body["filter"] = [{"match_all": {}}]
        return {"bool": body}

    def words(self, query: Query, field: str) -> str:
        """The words of a query that are looked for in a text field."""
        searched = field in self.weights
        return " ".join(
            one.text
            for one in query.clauses
            if one.kind in ("word", "phrase")
            and not one.excluded
            and (one.field == field or (one.field is None and searched))
        )

    def understood(self, query: Query) -> str:
        """The query as it was searched, for people."""
        parts = [f"{name}: {words}" for name in self.weights if (words := self.words(query, name))]
        same = {words for name in self.weights if (words := self.words(query, name))}
        if len(same) == 1:
            parts = [f"{next(iter(same))} in {', '.join(self.weights)}"]
        parts += [
            f"{'not ' if one.excluded else ''}{one.field or 'any field'}: {one.text}"
            for one in query.clauses
            if one.excluded or one.kind not in ("word",)
        ]
        return self._and_misspelt("; ".join(parts))

    def _scored(self, query: Query) -> list[Json]:
        clauses: list[Json] = []
        for name, field in self.fields.items():
            if field.kind != "text":
                continue
            words, weight = self.words(query, name), self.weights.get(name, 1.0)
            if words:
                clauses.append(self._match(name, words, weight))
            for one in query.clauses:
                inside = one.field == name or (one.field is None and name in self.weights)
                if one.kind == "prefix" and not one.excluded and inside:
                    start = self._analyser(name).prefix(one.text)
                    clauses.append({"prefix": {name: {"value": start, "boost": weight}}})
        return clauses

    def _match(self, name: str, words: str, weight: float) -> Json:
        """The clause that scores words in a field; corrections score beside what was typed."""
        wrong = " ".join(word for word in words.split() if word in self.misspelt)
        named = {"_name": named_bm25(name)} if self.named else {}
        if not wrong:
            return {"match": {name: {"query": words, "boost": weight, **named}}}
        plain = {"match": {name: {"query": words, "boost": weight}}}
        near = {"match": {name: {"query": wrong, "boost": weight, "fuzziness": "AUTO"}}}
        return {"bool": {"should": [plain, near], **named}}

    def _clause(self, clause: Clause) -> Json | None:
        """The documents that satisfy a clause; a word that no analyser keeps constrains nothing."""
        if clause.kind == "value":
            return _value(str(clause.field), clause.text)
        if clause.kind == "range":
            name = str(clause.field)
            return self._between(name, clause.low, clause.high, self.fields[name].kind)
        names = [clause.field] if clause.field else list(self.weights)
        if clause.kind == "prefix":
            starts = {name: self._analyser(name).prefix(clause.text) for name in names}
            return _any([{"prefix": {name: {"value": start}}} for name, start in starts.items() if start])
        kind = "match_phrase" if clause.kind == "phrase" else "match"
        extra = {"fuzziness": "AUTO"} if clause.text in self.misspelt and kind == "match" else {}
        every = {"operator": "and"} if kind == "match" else {}
        kept = self._with_terms(names, clause.text)
        return _any([{kind: {name: {"query": clause.text} | every | extra}} for name in kept])

    def _has_value(self, name: str, values: list[str]) -> Json:
        return _any([_value(name, one) for one in values]) or {"match_none": {}}

    def _between(self, name: str, low: float, high: float, kind: str) -> Json:
        """Dates are milliseconds in OpenSearch, rounded to what they mean."""
        date, ends = kind == "date", {}
        if not math.isinf(low):
            ends["gte"] = math.ceil(low * 1000 - 1e-3) if date else low
        if not math.isinf(high):
            ends["lte"] = math.floor(high * 1000 + 1e-3) if date else high
        if not ends:
            return {"exists": {"field": name}}
        return {"range": {name: ends | ({"format": "epoch_millis"} if date else {})}}


def _any(clauses: list[Json]) -> Json | None:
    if len(clauses) < 2:
        return clauses[0] if clauses else None
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _value(name: str, value: str) -> Json:
    return {"term": {name: {"value": value, "case_insensitive": True}}}


def has_word(fields: Sequence[str], word: str) -> Json:
    """Documents with a word in any of some text fields."""
    if len(fields) == 1:
        return {"match": {fields[0]: word}}
    return {"multi_match": {"query": word, "fields": list(fields), "type": "most_fields"}}
