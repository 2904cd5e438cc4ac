"""What the templates show of an answer: titles with their words marked, links, facts, filters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from rankloop.search import Field, Index, Query
from rankloop.search.text.snippet import snippet
from rankloop.serve.http.schema import Result, SearchAnswer
from rankloop.serve.pages.address import FILTER, Asked

__all__ = ["Choice", "Facet", "Hit", "Span", "View", "document_path", "facet_fields", "hits", "view"]

FACETS, CHOICES, SPANS, FACTS = 4, 8, 3, 3
LONGEST_FACT = 40
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Hit:
    """One result; `title` and `snippet` are HTML, `plain` is the title as text."""

    id: str
    position: int
    title: Markup
    plain: str
    snippet: Markup
    href: str
    why: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """A filter to set or to take away."""

    name: str
    value: str
    href: str
    count: int = 0
    chosen: bool = False


@dataclass(frozen=True)
class Facet:
    name: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Span:
    """A range to set: what is set now, and what else the form carries along."""

    name: str
    kind: str
    low: str
    high: str
    others: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class View:
    """A page of results."""

    query: str
    impression: str | None
    settled: bool
    found: int
    seconds: float
    ranker: str
    results: list[Hit]
    facets: list[Facet]
    spans: list[Span]
    chosen: list[Choice]
    more: str | None
    unfiltered: str


def view(answer: SearchAnswer, asked: Asked, index: Index, *, settled: bool) -> View:
    """The answer to a search as its page shows it."""
    shown = hits(answer.results, asked.query, index)
    names = [(name.removeprefix(FILTER), value) for name, value in asked.chosen]
    more = len(shown) == asked.k < min(answer.found, asked.most)
    return View(
        query=asked.query,
        impression=answer.impression,
        settled=settled,
        found=max(answer.found, len(shown)),
        seconds=answer.seconds.get("total", sum(answer.seconds.values())),
        ranker=answer.ranker,
        results=shown,
        facets=list(_facets(answer.facets, asked)),
        spans=list(_spans(index.fields, asked)),
        chosen=[Choice(name, value, asked.toggled(name, value).href, chosen=True) for name, value in names],
        more=asked.longer().href if more else None,
        unfiltered=Asked(asked.query).href,
    )


def hits(results: Sequence[Result], query: str, index: Index) -> list[Hit]:
    """Results with the words of the query marked in their titles."""
    analyser = index.snapshot.manifest.analyser
    terms = set(analyser.terms(Query.parse(query, index.fields).plain))
    return [
        Hit(
            id=one.id,
            position=one.position,
            title=Markup(snippet(one.title, terms, analyser, words=300)) or Markup.escape(one.id),
            plain=one.title,
            snippet=_passage(one),
            href=one.url or document_path(one.id),
            why="/why?" + urlencode({"q": query, "document": one.id} | _above(results, at)),
            facts=tuple(_facts(one.document, index.fields, one.title)),
        )
        for at, one in enumerate(results)
    ]


def _above(results: Sequence[Result], at: int) -> dict[str, str]:
    """The result that this one is compared with."""
    return {"above": results[at - 1].id} if at else {}


def _passage(one: Result) -> Markup:
    """The snippet, unless all its words are in the title."""
    passage, title = Markup(one.snippet), one.title.lower()
    said = _WORD.findall(passage.striptags().lower())
    return Markup() if all(word in title for word in said) else passage


def document_path(id: str) -> str:
    """Where a document without an address of its own is shown."""
    return "/document/" + quote(id, safe="")


def facet_fields(fields: Mapping[str, Field]) -> list[str]:
    """The fields that are offered as filters."""
    return [name for name, field in fields.items() if field.kind == "keyword"][:FACETS]


def _facets(counts: Mapping[str, Mapping[str, int]], asked: Asked) -> Iterable[Facet]:
    """Fields that divide the results; one in which every value is different does not help."""
    for name, values in counts.items():
        choices = tuple(
            Choice(
                name, value, asked.toggled(name, value).href, count, (FILTER + name, value) in asked.chosen
            )
            for value, count in list(values.items())[:CHOICES]
        )
        divides = len(choices) > 1 and choices[0].count > 1
        if divides or any(choice.chosen for choice in choices):
            yield Facet(name, choices)


def _spans(fields: Mapping[str, Field], asked: Asked) -> Iterable[Span]:
    """Number and date fields, the first few."""
    ranged = [name for name, field in fields.items() if field.kind in ("number", "date")]
    for name in ranged[:SPANS]:
        set_now = next((value for key, value in asked.chosen if key == FILTER + name), "")
        low, dots, high = set_now.partition("..")
        others = (("q", asked.query), *(pair for pair in asked.chosen if pair[0] != FILTER + name))
        yield Span(name, fields[name].kind, low, high if dots else low, others)


def _facts(document: Mapping[str, Any], fields: Mapping[str, Field], title: str) -> Iterable[str]:
    """Short things to know: keywords and dates, the first few that are there."""
    told = 0
    for name, field in fields.items():
        value = document.get(name)
        if field.kind not in ("keyword", "date") or value in (None, "", [], title) or told == FACTS:
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if len(text) <= LONGEST_FACT:
            told += 1
            yield text
