"""The Python standard library as a collection: searched by what you want to do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.demo.collection import Collection
from rankloop.demo.library import Library, split_name
from rankloop.demo.mining import Mined, mined_queries
from rankloop.demo.usage import Usage
from rankloop.search import Analyser, Field, Index
from rankloop.search.features.link_signals import link_signals

__all__ = ["Popularity", "collect", "comments_of", "index_library", "mined_lists", "references"]

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
    *("length(name)", "length(summary)"),  # that of bodies would lift the few very long ones above all
    *("bm25(last)", "boolean(last)", "covered_ratio(last)", "length(last)"),
    *("bm25(letters)", "covered_ratio(letters)", "cosine(letters)", "cosine(summary)", "cosine(name)"),
    *("bm25(*)", "covered_ratio(*)", "covered_idf(*)"),
    *("unordered(summary)", "first(summary)", "window(summary)", "unordered(body)"),
    *(f"value({name})" for name in _NUMBERS),
)
_MENTION = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_EXAMPLES = (
    "temporary directory that cleans up after itself",
    "most common elements in a list",
    "run a command and get its output",
    "wait for several threads",
)


@dataclass(frozen=True)
class Popularity:
    """How many packages of the machine call each document, and each module; a package can be left out."""

    documents: dict[str, dict[str, None]]
    modules: dict[str, dict[str, None]]

    @classmethod
    def of(cls, library: Library, usage: Usage) -> "Popularity":
        documents: dict[str, dict[str, None]] = {}
        modules: dict[str, dict[str, None]] = {}
        for package, names in usage.calls.items():
            for name in names:
                found = library.canonical.get(name)
                if found is not None:
                    documents.setdefault(found, {})[package] = None
                    modules.setdefault(library.documents[found]["module"], {})[package] = None
        return cls(documents, modules)

    def features(self, name: str, module: str, *, without: str | None = None) -> tuple[float, float]:
        """The popularity of a document and of its module; a package must not vouch for its own searches."""
        users = [known.get(key, {}) for known, key in ((self.documents, name), (self.modules, module))]
        mine, its = (log1p(len(packages) - (without in packages)) for packages in users)
        return mine, its


def collect(library: Library, usage: Usage, path: Path) -> tuple[Collection, int]:
    """The collection, with an index at `path`, and how many comments of the machine read like searches."""
    popular = Popularity.of(library, usage)
    collection = Collection(
        name="stdlib",
        title="Search Python",
        index=index_library(library, popular, path),
        weights={"name": 3.0, "summary": 2.0, "body": 1.0},
        features=FEATURES,
        prior="value(popularity)",
        searches=library.searches,
        max_grade=3,
        examples=_EXAMPLES,
    )
    mined = comments_of(library, usage)
    lists = mined_lists(collection, library, popular, mined)
    return replace(collection, mined=lists), len(mined)


def index_library(library: Library, popular: Popularity, path: Path) -> Index:
    """An index of every document, with what is known of it before anyone asks."""
    fields: dict[str, Any] = {
        **dict.fromkeys(("name", "summary", "body", "last"), "text"),
        "letters": Field("text", source="last", analyser=Analyser(grams=(3, 3))),
        **dict.fromkeys(("kind", "module"), "keyword"),
        **dict.fromkeys(_NUMBERS, "number"),
    }
    mentions = references(library)
    index = Index.create(path, fields=fields)
    index.add(_entry(document, popular, mentions[name]) for name, document in library.documents.items())
    index.commit()
    return index


def references(library: Library) -> dict[str, int]:
    """How many other documents name each one in their text."""
    links = {name: _mentioned(document, library.canonical) for name, document in library.documents.items()}
    found = link_signals(list(library.documents), links)
    return dict(zip(library.documents, found.inlinks.tolist(), strict=True))


def comments_of(library: Library, usage: Usage) -> list[Mined]:
    """Comments of the machine that read like searches; those that were written for the demo are none."""
    analyser = Analyser()
    words = {
        name: frozenset(analyser.terms(f"{split_name(name)} {document['summary']}"))
        for name, document in library.documents.items()
    }
    written = {text.lower() for text in library.searches}
    mined = mined_queries(usage, library.canonical, words, lambda word: "".join(analyser.terms(word)[:1]))
    return [one for one in mined if one.text.lower() not in written]


def mined_lists(
    collection: Collection, library: Library, popular: Popularity, mined: list[Mined]
) -> RankingDataset | None:
    """What BM25 finds for mined comments; popularity is counted without the package of the comment."""
    graded = {one.text: one.answers for one in mined}
    if not graded:
        return None
    lists = collection.candidates(graded)
    found = [text for text in lists.qid.tolist() if lists.y[lists.row_qid == text].any()]
    if not found:
        return None
    lists = lists.select(np.flatnonzero(np.isin(lists.qid, found)))
    assert lists.docid is not None
    package = {one.text: one.package for one in mined}
    X = lists.X.copy()
    columns = [FEATURES.index(f"value({name})") for name in ("popularity", "module_popularity")]
    for row, (text, name) in enumerate(zip(lists.row_qid.tolist(), lists.docid.tolist(), strict=True)):
        module = library.documents[name]["module"]
        X[row, columns] = popular.features(name, module, without=package[text])
    return lists.replace(X=X, y=lists.y / 2.0)


def _entry(document: Mapping[str, Any], popular: Popularity, mentions: int) -> dict[str, Any]:
    name, kind = document["name"], document["kind"]
    popularity, module_popularity = popular.features(name, document["module"])
    return {
        "id": name,
        "name": split_name(name),
        "summary": document["summary"],
        "body": document["body"],
        "last": document["last"],
        "kind": kind,
        "module": document["module"] or "builtins",
        "signature": document["signature"],
        "popularity": popularity,
        "module_popularity": module_popularity,
        "references": log1p(mentions),
        "depth": name.count("."),
        "name_length": len(document["last"]),
        **{f"is_{one}": float(kind == one) for one in ("module", "class", "method", "exception")},
    }


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
