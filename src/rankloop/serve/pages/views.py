"""An answer as the templates show it: titles with words marked, links, facts, filters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from rankloop.search import Field, Query, Searchable
from rankloop.search.text.snippet import snippet
from rankloop.serve.card_settings import CardSettings
from rankloop.serve.http.schema import Result, SearchAnswer
from rankloop.serve.pages.address import FILTER, SearchAddress
from rankloop.serve.pages.narrowing import MORE, Choice, Facet, Order, Span, facets, orders, spans

__all__ = ["Card", "Hit", "View", "document_path", "hits", "view"]

FACTS = 3
LONGEST_FACT = 40
_WORD = re.compile(r"[^\W_]+")
_NO_CARD = CardSettings()


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
    card: "Card | None" = None


@dataclass(frozen=True)
class Card:
    """What of a product is shown beside its title."""

    price: str | None
    image: str | None
    rating: float | None
    best_rating: float


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
    orders: list[Order]
    chosen: list[Choice]
    more: str | None  # the same with more results
    following: str | None  # the results that follow, alone
    unfiltered: str
    cut: tuple[str, ...]  # which parts of the query were ignored
    understood: str | None  # the query as it was searched, if that is another one
    ends: bool  # whether more was found than a list shows


def view(
    answer: SearchAnswer,
    address: SearchAddress,
    index: Searchable,
    *,
    settled: bool,
    card: CardSettings = _NO_CARD,
    first: int | None = None,
) -> View:
    """The answer to a search as its page shows it; `first` is how many results the page had at first."""
    shown = hits(answer.results, address.query, index, answer.understood, card)
    names = [(name.removeprefix(FILTER), value) for name, value in address.chosen]
    end = answer.offset + len(shown)
    more = len(shown) == address.k and end < min(answer.found, address.most)
    step = first or address.k
    following = {"page": end // step + 1, "impression": answer.impression, "settled": 1}
    return View(
        query=address.query,
        impression=answer.impression,
        settled=settled,
        found=max(answer.found, end),
        seconds=answer.seconds.get("total", sum(answer.seconds.values())),
        results=shown,
        facets=list(facets(answer.facets, address, more=MORE if settled else 0)),
        spans=list(spans(index.fields, answer.ranges, address)),
        orders=orders(index.fields, address),
        chosen=[Choice(name, value, address.toggled(name, value).href, chosen=True) for name, value in names],
        more=address.longer().href if more else None,
        following=f"/fragment{replace(address, k=step).href[1:]}&{urlencode(following)}"
        if more and answer.impression and not end % step
        else None,
        unfiltered=address.cleared().href,
        cut=tuple(answer.cut),
        understood=None if _has_prefix(address.query, index) else answer.understood,
        ends=bool(shown) and not more and end < answer.found,
    )


def _has_prefix(query: str, index: Searchable) -> bool:
    """Whether the user wrote a prefix, which finds more than the one word that it is understood as."""
    return "*" in query and any(one.kind == "prefix" for one in Query.parse(query, index.fields).clauses)


def hits(
    results: Sequence[Result],
    query: str,
    index: Searchable,
    understood: str | None = None,
    card: CardSettings = _NO_CARD,
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
            card=_card(one.document, card),
        )
        for at, one in enumerate(results)
    ]


def _card(document: Mapping[str, Any], card: CardSettings) -> Card | None:
    """The card of a document, if it has any of what the config asks for."""
    found = Card(card.price_of(document), card.image_of(document), card.rating_of(document), card.best_rating)
    return None if found.price is None and found.image is None and found.rating is None else found


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
