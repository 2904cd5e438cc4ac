"""The Python standard library as a collection: searched by what you want to do."""

import re
from collections import Counter
from collections.abc import Mapping
from math import log1p
from pathlib import Path
from typing import Any

from rankloop.demo.collection import Collection
from rankloop.demo.library import Library, split_name
from rankloop.demo.usage import Usage
from rankloop.search import Analyser, Field, Index, link_signals

__all__ = ["collect", "index_library", "popularity", "references"]

_NUMBERS = (
    *("popularity", "module_popularity", "references", "depth", "name_length"),
    *("is_module", "is_class", "is_method", "is_exception"),
)
FEATURES = (
    "query_length",
    *(
        f"{family}({field})"
        for field in ("name", "summary", "body")
        for family in ("bm25", "covered_ratio", "covered_idf", "lm_dirichlet")
    ),
    *("length(name)", "length(summary)"),  # not of bodies: a few very long ones would come first everywhere
    *("bm25(last)", "boolean(last)", "covered_ratio(last)", "length(last)"),
    *("bm25(letters)", "covered_ratio(letters)", "cosine(letters)", "cosine(summary)", "cosine(name)"),
    *("bm25(*)", "covered_ratio(*)", "covered_idf(*)"),
    *("unordered(summary)", "first(summary)", "window(summary)", "unordered(body)"),
    *(f"value({name})" for name in _NUMBERS),
)
MEANING = "meaning"  # the vector field, where there is an encoder
_MENTION = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


def collect(library: Library, usage: Usage, path: Path, *, encoder: str | None = None) -> Collection:
    """The collection, with an index at `path`; with an encoder it is searched by meaning too."""
    return Collection(
        name="stdlib",
        title="Search Python",
        index=index_library(library, usage, path, encoder=encoder),
        weights={"name": 3.0, "summary": 2.0, "body": 1.0},
        features=FEATURES if encoder is None else (*FEATURES, f"similarity({MEANING})"),
        prior="value(popularity)",
        searches=library.searches,
        max_label=3,
    )


def index_library(library: Library, usage: Usage, path: Path, *, encoder: str | None = None) -> Index:
    """An index of every document, with its popularity and other numbers that depend on no query."""
    fields: dict[str, Any] = {
        **dict.fromkeys(("name", "summary", "body", "last"), "text"),
        "letters": Field("text", source="last", analyser=Analyser(grams=(3, 3))),
        **dict.fromkeys(("kind", "module"), "keyword"),
        **dict.fromkeys(_NUMBERS, "number"),
        **({} if encoder is None else {MEANING: "vector"}),
    }
    mentions, (popular, popular_modules) = references(library), popularity(library, usage)
    index = Index.create(path, fields=fields, encoder=encoder)
    vectors = _vectors(library, index)
    index.add(
        {**_entry(document, popular[name], popular_modules[document["module"]], mentions[name]), **vector}
        for (name, document), vector in zip(library.documents.items(), vectors, strict=True)
    )
    index.commit()
    return index


def popularity(library: Library, usage: Usage) -> tuple[Counter[str], Counter[str]]:
    """How many packages of this machine call each document, and each module."""
    documents: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for names in usage.calls.values():
        called = {library.canonical[name] for name in names if name in library.canonical}
        documents.update(called)
        modules.update({library.documents[name]["module"] for name in called})
    return documents, modules


def references(library: Library) -> dict[str, int]:
    """How many other documents mention each one in their text."""
    links = {name: _mentioned(document, library.canonical) for name, document in library.documents.items()}
    found = link_signals(list(library.documents), links)
    return dict(zip(library.documents, found.inlinks.tolist(), strict=True))


def _entry(document: Mapping[str, Any], packages: int, of_module: int, mentions: int) -> dict[str, Any]:
    name, kind = document["name"], document["kind"]
    return {
        "id": name,
        "name": split_name(name),
        "summary": document["summary"],
        "body": document["body"],
        "last": document["last"],
        "kind": kind,
        "module": document["module"] or "builtins",
        "signature": document["signature"],
        "popularity": log1p(packages),
        "module_popularity": log1p(of_module),
        "references": log1p(mentions),
        "depth": name.count("."),
        "name_length": len(document["last"]),
        **{f"is_{one}": float(kind == one) for one in ("module", "class", "method", "exception")},
    }


def _vectors(library: Library, index: Index) -> list[dict[str, Any]]:
    """The meaning of each name and summary: whole bodies take many times as long, and say less."""
    if MEANING not in index.encoders:
        return [{}] * len(library.documents)
    embedder = index.encoders[MEANING]
    texts = [f"{split_name(name)}\n{one['summary']}" for name, one in library.documents.items()]
    return [{MEANING: vector} for vector in embedder.encoder.encode(texts, cache=embedder.cache)]


def _mentioned(document: Mapping[str, Any], canonical: Mapping[str, str]) -> set[str]:
    """Documents named in a text: dotted or with an underscore, or a capitalised name of the same module."""
    module = document["module"]
    found = set()
    for word in set(_MENTION.findall(document["body"])):
        names = [] if word.islower() else [f"{module}.{word}"]
        if "." in word or "_" in word:
            names = [word, f"{module}.{word}", f"{module.partition('.')[0]}.{word}"]
        known = next((canonical[name] for name in names if name in canonical), None)
        if known is not None:
            found.add(known)
    return found
