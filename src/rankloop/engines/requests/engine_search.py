"""One search of an engine on other machines, before it is written in the language of that engine."""

from dataclasses import dataclass
from typing import Any

from rankloop.search import BM25, BM25F, Query
from rankloop.search.index.match import Filters

__all__ = ["EngineSearch"]

Model = BM25 | BM25F
PLAIN = BM25()


@dataclass(frozen=True)
class EngineSearch:
    """The k best documents after the first `offset`.

    `sort` is a field, and whether its largest values come first. `documents` asks for the documents as well,
    `named` for the clauses that each of them matches (OpenSearch). `rescore` orders the best by a model in
    the engine, in the engine's own words.
    """

    query: Query
    k: int
    offset: int = 0
    sort: tuple[str, bool] | None = None
    filters: Filters | None = None
    model: Model = PLAIN
    match: str = "any"
    typos: str = "never"
    documents: bool = False
    named: bool = True
    rescore: Any = None
