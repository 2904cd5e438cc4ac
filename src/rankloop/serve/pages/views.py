"""An answer as the templates show it: titles with words marked, links, facts, filters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from rankloop.search import Field, Query, Searchable
from rankloop.search.text.snippet import snippet
from rankloop.serve.http.schema import Result, SearchAnswer
from rankloop.serve.pages.address import FILTER, SearchAddress

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
    """A filter to add or to remove."""

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
    """A range to set: its ends now, and the other fields of the form."""

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
    results: list[Hit]
    facets: list[Facet]
    spans: list[Span]
    chosen: list[Choice]
    more: str | None  # the same with more results
    following: str | None  # the results that follow, alone
    unfiltered: str
    cut: tuple[str, ...]  # which parts of the query were ignored
    understood: str | None  # the query as it was searched, if that is another one
    ends: bool  # whether more was found than a list shows


def view(answer: SearchAnswer, address: SearchAddress, index: Searchable, *, settled: bool) -> View:
    """The answer to a search as its page shows it."""
    shown = hits(answer.results, address.query, index, answer.understood)
    names = [(name.removeprefix(FILTER), value) for name, value in address.chosen]
    end = answer.offset + len(shown)
    more = len(shown) == address.k and end < min(answer.found, address.most)
    following = {"page": end // address.k + 1, "impression": answer.impression, "settled": 1}
    return View(
        query=address.query,
        impression=answer.impression,
        settled=settled,
        found=max(answer.found, end),
        seconds=answer.seconds.get("total", sum(answer.seconds.values())),
        results=shown,
        facets=list(_facets(answer.facets, address)),
        spans=list(_spans(index.fields, address)),
        chosen=[Choice(name, value, address.toggled(name, value).href, chosen=True) for name, value in names],
        more=address.longer().href if more else None,
        following=f"/fragment{address.href[1:]}&{urlencode(following)}"
        if more and answer.impression
        else None,
        unfiltered=SearchAddress(address.query).href,
        cut=tuple(answer.cut),
        understood=answer.understood,
        ends=bool(shown) and not more and end < answer.found,
    )


def hits(
    results: Sequence[Result], query: str, index: Searchable, understood: str | None = None
) -> list[Hit]:
    """Results with the words of the query, as it was understood, marked in their titles."""
    analyser = index.snapshot.manifest.analyser
    terms = set(analyser.terms(Query.parse(understood or query, index.fields).plain))
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
    words = _WORD.findall(passage.striptags().lower())
    return Markup() if all(word in title for word in words) else passage


def document_path(id: str) -> str:
    """The address of a document that has no link of its own."""
    return "/document/" + quote(id, safe="")


def facet_fields(fields: Mapping[str, Field]) -> list[str]:
    """The fields that are offered as filters."""
    return [name for name, field in fields.items() if field.kind == "keyword"][:FACETS]


def _facets(counts: Mapping[str, Mapping[str, int]], address: SearchAddress) -> Iterable[Facet]:
    """Fields with a value that several results share, or with a chosen filter."""
    for name, values in counts.items():
        choices = tuple(
            Choice(
                name,
                value,
                address.toggled(name, value).href,
                count,
                (FILTER + name, value) in address.chosen,
            )
            for value, count in list(values.items())[:CHOICES]
        )
        divides = len(choices) > 1 and choices[0].count > 1
        if divides or any(choice.chosen for choice in choices):
            yield Facet(name, choices)


def _spans(fields: Mapping[str, Field], address: SearchAddress) -> Iterable[Span]:
    """Number and date fields, the first few."""
    ranged = [name for name, field in fields.items() if field.kind in ("number", "date")]
    for name in ranged[:SPANS]:
        set_now = next((value for key, value in address.chosen if key == FILTER + name), "")
        low, dots, high = set_now.partition("..")
        others = (("q", address.query), *(pair for pair in address.chosen if pair[0] != FILTER + name))
        yield Span(name, fields[name].kind, low, high if dots else low, others)


def _facts(document: Mapping[str, Any], fields: Mapping[str, Field], title: str) -> Iterable[str]:
    """The first few keywords and dates of a document."""
    found = 0
    for name, field in fields.items():
        value = document.get(name)
        if field.kind not in ("keyword", "date") or value in (None, "", [], title) or found == FACTS:
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if len(text) <= LONGEST_FACT:
            found += 1
            yield text
