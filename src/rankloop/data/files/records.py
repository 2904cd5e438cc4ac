"""JSON records of files and iterables, one after the other, and what is done with those that are wrong."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankloop._json import parse_json
from rankloop._names import one_of
from rankloop._warn import warn
from rankloop.data.files.text import TextSource

__all__ = ["HALF", "Faults", "Records", "is_writable", "json_records", "may_hold_halves", "numbered_lines"]

Records = str | Path | Iterable[Mapping[str, Any]]

_BLOCK = 1 << 20
_BULK = {"index", "create", "update", "delete"}  # the lines between documents in the body of a bulk request
HALF = "a text holds half a letter (a surrogate without its pair), which no file can hold"
SHOWN = 5  # reasons in a warning, the most frequent ones


class Faults:
    """Records that cannot be used: an error that names record and field, or a count.

    With `on_error="skip"` they are counted in `skipped`, by reason; without a counter of the caller's, a
    warning tells the counts at the end.
    """

    def __init__(self, source: object, on_error: str, skipped: "Counter[str] | None" = None) -> None:
        one_of("on_error", on_error, ("raise", "skip"))
        self.source = str(source) if isinstance(source, str | Path) else "the records"
        self.skips, self.counted = on_error == "skip", skipped is not None
        self.counts: Counter[str] = Counter() if skipped is None else skipped
        self.wrong = 0

    def __call__(self, number: int, field: str, problem: str, advice: str) -> None:
        """A record that is wrong."""
        if not self.skips:
            raise ValueError(f"{self.source}, record {number}, {field}: {problem}; {advice}")
        self.counts[f"{field}: {problem.partition(', got')[0]}"] += 1
        self.wrong += 1

    def line(self, number: int, problem: str, advice: str = "correct the line") -> None:
        """A line that is no record."""
        if not self.skips:
            raise ValueError(f"{self.source}, line {number} {problem}; {advice}")
        self.counts[f"a line {problem.partition(':')[0].partition(' (')[0]}"] += 1
        self.wrong += 1

    def at(self, place: str, problem: str, advice: str) -> None:
        """What is wrong at a place that the message names in full."""
        if not self.skips:
            raise ValueError(f"{place}: {problem}; {advice}")
        self.counts[problem.partition(", got")[0]] += 1
        self.wrong += 1

    def queries(self, lost: list[str]) -> None:
        """Queries that are judged and have no text."""
        if not self.skips:
            raise ValueError(
                f"{self.source} judges query {lost[0]!r}, which has no text; add it to the queries"
            )
        self.counts["judged queries without text"] += len(lost)
        self.wrong += len(lost)

    def absent(self, what: str) -> None:
        """A record that is right and of no use here."""
        self.counts[what] += 1

    @contextmanager
    def summed_up(self) -> Iterator["Faults"]:
        yield self
        if self.wrong and not self.counted:
            shown = self.counts.most_common(SHOWN)
            reasons = ", ".join(f"{count:,} x {reason}" for reason, count in shown)
            if len(shown) < len(self.counts):
                reasons += f", and {len(self.counts) - len(shown):,} other reasons"
            warn(f"{self.source}: {self.wrong:,} records were skipped as wrong; counted: {reasons}")


def json_records(source: Records, faults: Faults) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Records with their numbers from 1: of JSON lines (streamed), a JSON array, or an iterable.

    A line may hold an array of records, as browsers send them. A saved answer of a search engine gives the
    `_source` of its hits, and in the body of a bulk request only the documents count.

    >>> list(json_records([{"a": 1}], Faults("x", "raise")))
    [(1, {'a': 1})]
    """
    number = 0
    values = _values(source, faults) if isinstance(source, str | Path) else ((one, False) for one in source)
    for found, escaped in values:
        for record in _unwrapped(found):
            number += 1
            if not isinstance(record, Mapping):
                faults(number, "record", f"wanted a JSON object, got {str(record)[:40]!r}", "correct it")
            elif escaped and not is_writable(record):
                faults(number, "record", HALF, "correct or drop it")
            else:
                yield number, record


def may_hold_halves(text: str) -> bool:
    """Whether JSON has an escape of a surrogate, of which one alone is no letter: see `is_writable`."""
    return "\\ud" in text or "\\uD" in text


def is_writable(value: Any) -> bool:
    """Whether all texts of a JSON value are Unicode; programs that cut texts can leave half a letter.

    >>> is_writable({"query": "t\\u00fcr"}), is_writable({"query": chr(0xD83D)})
    (True, False)
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def numbered_lines(path: str | Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """The lines of a file, plain, gzip or zstd, with their numbers from 1, in bounded memory."""
    number = 0
    buffer = bytearray(_BLOCK)
    with TextSource(path) as source:
        while True:
            buffer, end = source.fill(buffer, beyond=1)
            if end == 0:
                return
            for line in bytes(memoryview(buffer)[:end]).split(b"\n")[:-1]:
                number += 1
                try:
                    text = line.decode()
                    yield number, text.removeprefix("\ufeff") if number == 1 else text
                except UnicodeDecodeError:
                    faults.line(number, "is not UTF-8 text", "convert the file to UTF-8")


def _values(path: str | Path, faults: Faults) -> Iterator[tuple[Any, bool]]:
    """The JSON values of a file, one on each line, or one over all lines; and if they may hold halves."""
    lines = numbered_lines(path, faults)
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = parse_json(line)
        except json.JSONDecodeError as error:
            if number > 1 and line.strip() not in ("[", "{"):
                faults.line(number, f"is not JSON: {error}")
                continue
            rest = [(number, line), *lines]
            try:
                whole = "\n".join(text for _, text in rest)
                yield parse_json(whole), may_hold_halves(whole)
            except json.JSONDecodeError as wrong:
                if not faults.skips:
                    raise ValueError(
                        f"{path} is neither JSON nor JSON lines ({wrong}); write one object per line, or "
                        "an array"
                    ) from None
                yield from _single(rest, faults)
            return
        yield found, may_hold_halves(line)


def _single(lines: Iterable[tuple[int, str]], faults: Faults) -> Iterator[tuple[Any, bool]]:
    for number, line in lines:
        try:
            yield parse_json(line or "[]"), may_hold_halves(line)
        except json.JSONDecodeError as error:
            faults.line(number, f"is not JSON: {error}")


def _unwrapped(found: Any) -> Iterable[Any]:
    if isinstance(found, list):
        return (one for part in found for one in _unwrapped(part))
    if isinstance(found, Mapping):
        hits = found.get("hits")
        if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
            return [hit.get("_source", {}) if isinstance(hit, Mapping) else hit for hit in hits["hits"]]
        if len(found) == 1 and set(found) <= _BULK and isinstance(next(iter(found.values())), Mapping):
            return []
        if "_source" in found and "_id" in found:
            return [found["_source"]]
    return [found]
