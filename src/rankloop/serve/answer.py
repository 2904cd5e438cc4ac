"""From a request to ranked candidates: the query, its filters, and a pipeline with the time of each stage."""

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankloop._names import one_of
from rankloop.search import Candidates, Features, Field, Pipeline, Query, Retriever, Searchable, first
from rankloop.search.field import moment
from rankloop.search.index.sort_field import sort_field
from rankloop.search.ranked import Ranked
from rankloop.search.stage import StageLike
from rankloop.search.text.query import span_of
from rankloop.serve.config import Config
from rankloop.serve.http.schema import FilterValue, Range, SearchRequest

__all__ = ["Place", "Seconds", "TimedCandidates", "as_filters", "query_of", "run_stages"]

Seconds = dict[str, float]
_LAST_WORD = re.compile(r"(?:^|\s)(\w{2,})$")
_STAGE_NAMES: dict[type, str] = {Retriever: "retrieve", Features: "features", Ranked: "rank"}


@dataclass(frozen=True, eq=False)
class TimedCandidates:
    """All candidates in the order of a ranker, and the seconds of each stage."""

    found: Candidates
    seconds: Seconds


def query_of(text: str, index: Searchable, user: Mapping[str, float], *, unfinished: bool = False) -> Query:
    """The query of a person at this moment; an unfinished one may stop within its last word.

    That word is searched as it is and as a prefix: words of the index are stems, which may be shorter than
    it. Zero characters, which databases refuse, become blanks.
    """
    clean = text.replace("\0", " ")
    last = _LAST_WORD.search(clean) if unfinished else None
    expanded = clean if last is None else f"{clean} {last[1]}*"
    return replace(Query.parse(expanded, index.fields), text=clean, at=time.time(), user=user)


def run_stages(
    search: Pipeline, query: Query, *, filters: Mapping[str, Any] | None = None, sort: str | None = None
) -> TimedCandidates:
    """Run a pipeline without its cut `first(n)`, which the caller makes, and time its stages.

    What is sorted by a field is only retrieved. An empty query finds all documents that pass the filters.
    """
    seconds: Seconds = {}
    start = time.perf_counter()

    def add_time(stage: StageLike) -> None:
        nonlocal start
        end = time.perf_counter()
        name = next((name for kind, name in _STAGE_NAMES.items() if isinstance(stage, kind)), "other")
        seconds[name] = seconds.get(name, 0.0) + end - start
        start = end

    stages = tuple(_filtered(stage, filters, sort) for stage in search.stages if not isinstance(stage, first))
    if sort is not None:
        stages = stages[:1]
    return TimedCandidates(Pipeline(stages)(query, after_stage=add_time), seconds)


def _filtered(stage: StageLike, filters: Mapping[str, Any] | None, sort: str | None) -> StageLike:
    if isinstance(stage, Retriever) and (filters is not None or sort):
        return replace(stage, filters={**(stage.filters or {}), **(filters or {})}, sort=sort)
    return stage


@dataclass(frozen=True)
class Place:
    """Which results of a search are asked for, and in which order: a field, or None for the best first."""

    offset: int
    k: int
    sort: str | None = None

    @classmethod
    def of(cls, request: SearchRequest, config: Config, fields: Mapping[str, Field]) -> "Place":
        """The place that a request asks for; a deep page, below all candidates, is refused."""
        k = request.k or min(config.k, config.limits.k)
        if request.page is not None and request.offset:
            raise ValueError("offset and page mean the same; give one of them")
        offset = request.offset if request.page is None else (request.page - 1) * k
        if offset and offset >= config.candidates:
            raise ValueError(
                f"results can be read down to position {config.candidates:,}, got offset {offset:,}; "
                "narrow the search with words or filters"
            )
        if request.impression is not None and not offset:
            raise ValueError("impression is sent with a following page; leave it out of the first one")
        return cls(offset, k, None if sort_field(request.sort, fields) is None else request.sort)


def as_filters(given: Mapping[str, FilterValue], fields: Mapping[str, Field]) -> dict[str, Any]:
    """The filters of a request as the index takes them, checked against its fields."""
    filters: dict[str, Any] = {}
    for name, value in given.items():
        field = fields[one_of("field to filter by", name, fields)]
        if field.kind == "keyword":
            if isinstance(value, Range):
                raise ValueError(f"{name!r} is a keyword field: filter it by a value or a list, not a range")
            filters[name] = value if isinstance(value, list) else [value]
        elif field.kind in ("number", "date"):
            filters[name] = _ends(name, value, field.kind)
        else:
            raise ValueError(
                f"filters are on keyword, number and date fields; {name!r} is a {field.kind} field"
            )
    return filters


def _ends(name: str, value: FilterValue, kind: str) -> tuple[Any, Any]:
    """The smallest and the largest value that pass; a date may be a day, a month or a year."""
    low, high = (value.min, value.max) if isinstance(value, Range) else (value, value)
    ends = []
    for at, end in enumerate((low, high)):
        span = None if isinstance(end, bool | list) else span_of(kind, str(end))
        if span is None and end is not None:
            wanted = "a number" if kind == "number" else "a date like 2024-05-31"
            raise ValueError(f"{name!r} is filtered by {wanted} or a range of them, got {end!r}")
        ends.append(None if span is None or math.isinf(span[at]) else span[at])
    return (ends[0], ends[1]) if kind == "number" else (moment(ends[0]), moment(ends[1]))
