"""From a request to a ranked page: stages with their times, and documents as people see them."""

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rankloop._names import one_of
from rankloop.search import Candidates, Features, Field, Index, Pipeline, Query, Retriever, first
from rankloop.search.ranked import Ranked
from rankloop.search.text.query import span_of
from rankloop.serve.http.schema import FilterValue, Range, Result
from rankloop.serve.passages import Passages

__all__ = ["Answered", "Seconds", "Showing", "answered", "as_filters", "asked", "plain"]

Seconds = dict[str, float]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IN_A_WORD = re.compile(r"(?:^|\s)(\w{2,})$")


@dataclass(frozen=True, eq=False)
class Answered:
    """All candidates in the order of a ranker, and how long each stage took."""

    found: Candidates
    seconds: Seconds


def asked(text: str, index: Index, user: Mapping[str, float], *, unfinished: bool = False) -> Query:
    """The query of a person at this moment; an unfinished one may stop within its last word.

    That word is looked for as it is, too: words of the index are stems, which may be shorter than it.
    No letter that a database refuses comes through.
    """
    clean = text.replace("\0", " ")
    last = _IN_A_WORD.search(clean) if unfinished else None
    meant = clean if last is None else f"{clean} {last[1]}*"
    return replace(Query.parse(meant, index.fields), text=clean, at=time.time(), user=user)


def answered(search: Pipeline, query: Query, *, filters: Mapping[str, Any] | None = None) -> Answered:
    """Run a pipeline up to its last cut, which is the caller's to make, and time its stages."""
    given: Any = query
    took: Seconds = {}
    for stage in search.stages:
        if isinstance(stage, first):
            continue
        if isinstance(stage, Retriever) and filters:
            stage = replace(stage, filters={**(stage.filters or {}), **filters})
        start = time.perf_counter()
        given = stage(given)
        name = _NAMES.get(type(stage), "other")
        took[name] = took.get(name, 0.0) + time.perf_counter() - start
    return Answered(given, took)


_NAMES: dict[type, str] = {Retriever: "retrieve", Features: "features", Ranked: "rank"}


def as_filters(given: Mapping[str, FilterValue], fields: Mapping[str, Field]) -> dict[str, Any]:
    """The filters of a request as the index takes them, checked against its fields."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        field = fields[one_of("field to filter by", name, fields)]
        if field.kind == "keyword":
            if isinstance(value, Range):
                raise ValueError(f"{name!r} is a keyword field: filter it by a value or a list, not a range")
            made[name] = value if isinstance(value, list) else [value]
        elif field.kind in ("number", "date"):
            made[name] = _ends(name, value, field.kind)
        else:
            raise ValueError(
                f"filters are on keyword, number and date fields; {name!r} is a {field.kind} field"
            )
    return made


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
    return (ends[0], ends[1]) if kind == "number" else (_moment(ends[0]), _moment(ends[1]))


def _moment(seconds: float | None) -> datetime | None:
    """Seconds since 1970 as the index takes them, not a microsecond later."""
    return None if seconds is None else _EPOCH + timedelta(microseconds=math.floor(seconds * 1e6))


@dataclass(frozen=True)
class Showing:
    """Which stored fields are the title and the link of a result."""

    title: str | None
    url: str | None

    @classmethod
    def of(cls, index: Index, title: str = "", url: str = "") -> "Showing":
        """What was chosen, or what the fields of the index suggest."""
        texts = [name for name, field in index.fields.items() if field.kind == "text"]
        likely = next((name for name in ("title", "name") if name in index.fields), None)
        return cls(title or likely or (texts[0] if texts else None), url or "url")

    def results(self, found: Candidates, fields: Sequence[str] | None = None) -> list[Result]:
        """The candidates as results, from position 1, with all stored fields or those named."""
        passages, snapshot = Passages(found), found.snapshot
        made = []
        for at, (id, row, score) in enumerate(
            zip(found.ids.tolist(), found.rows.tolist(), found.scores.tolist(), strict=True), 1
        ):
            document = snapshot.document(row)
            sent = (
                document if fields is None else {name: document[name] for name in fields if name in document}
            )
            made.append(
                Result(
                    position=at,
                    id=str(id),
                    score=score if math.isfinite(score) else 0.0,
                    title=self.title_of(id, document),
                    url=self.url_of(document),
                    snippet=_text(passages.of(document)),
                    document=plain(sent),
                )
            )
        return made

    def title_of(self, id: Any, document: Mapping[str, Any]) -> str:
        """What a result is called; its id where it has no title."""
        value = document.get(self.title) if self.title else None
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        return _text(text)[:300].strip() or str(id)

    def url_of(self, document: Mapping[str, Any]) -> str | None:
        """A link that leads somewhere: no scripts, no other schemes."""
        value = document.get(self.url) if self.url else None
        return _text(value) if isinstance(value, str) and value.startswith(("https://", "http://")) else None


def plain(value: Any) -> Any:
    """A stored value as JSON can say it."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool) or value is None else _text(str(value))


def _text(value: str) -> str:
    """Half a surrogate pair is no text that can be sent."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
