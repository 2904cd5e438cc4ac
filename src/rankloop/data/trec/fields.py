"""Text lines of fields separated by blanks: a query id, a document id and a number."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bytes, Floats, Ints
from rankloop._jit import has_compiler
from rankloop.data.files.bound import check_bound
from rankloop.data.files.whole import read_whole
from rankloop.data.trec.tokens import TENS, decode, tokenise

__all__ = ["Fields", "read_fields"]

_SMALL = 8 << 20  # bytes that Python splits in less time than the compiler takes to load
_OTHER_BLANKS = (b"  ", b" \n", b"\n ", b"\n\n", b"\t", b"\r", b"\v", b"\f")


@dataclass(frozen=True, slots=True)
class Fields:
    """The rows of a file; consecutive rows of one query share an entry of `qid`, `repeats` counts them."""

    qid: NDArray[np.str_]
    repeats: Ints
    docid: NDArray[np.str_]
    value: Floats
    line: Ints
    last: str


def read_fields(
    path: str | Path,
    names: Sequence[str],
    value: str,
    *,
    header: bool,
    least: int,
    largest: int | None = None,
) -> Fields:
    """Read `query`, `document` and `value` from lines with the fields `names`.

    Fields are separated by any number of blanks and tabs; the first `least` are required. Empty lines are
    skipped. Ids have one width, that of the longest; more than `largest` bytes of them are refused.
    """
    raw = read_whole(path, largest=largest)
    _check_text(raw, path)
    wanted = ["query", "document", value]
    if not has_compiler() and len(raw) <= _SMALL:
        return _split(raw, [names.index(name) for name in wanted], least, names, header, path, largest)
    data = np.frombuffer(raw, np.uint8)
    size = raw.count(b"\n") + 1
    spans = np.empty((3, 2, size), np.int64)
    numbers, lines, heads = np.empty(size), np.empty(size, np.int64), np.empty(size, np.bool_)
    places = np.array([wanted.index(name) if name in wanted else -1 for name in names])
    rows, bad_line, count = tokenise(
        data, places, least, len(names), int(header), TENS, spans, numbers, lines, heads
    )
    if bad_line:
        _wrong_count(path, bad_line, count, least, names)
    if rows == 0:
        _no_lines(path, names)
    spans, numbers, lines = spans[:, :, :rows], numbers[:rows], lines[:rows]
    _parse_rest(raw, spans[2], numbers, lines, value, path)
    first = np.flatnonzero(heads[:rows])
    for span in (spans[0][:, first], spans[1]):
        _check_width(int((span[1] - span[0]).max()), span.shape[1], path, len(raw), largest)
    return Fields(
        qid=_texts(data, spans[0][:, first]),
        repeats=np.diff(np.append(first, rows)),
        docid=_texts(data, spans[1]),
        value=numbers,
        line=lines,
        last=raw[spans[2, 1, 0] :].split(b"\n", 1)[0].decode().strip(),
    )


def _split(
    raw: bytes,
    places: list[int],
    least: int,
    names: Sequence[str],
    header: bool,
    path: str | Path,
    largest: int | None,
) -> Fields:
    """The same without machine code; `places` are those of query, document and value among the fields."""
    even = _columns_of_even(raw)
    if even is not None and least <= len(even) <= len(names):
        kept = list(range(header, len(even[0])))
        columns = [even[place][header:] for place in places]
    else:
        lines = [line.split() for line in raw.split(b"\n")]
        kept = [at for at, fields in enumerate(lines) if fields and at >= header]
        for at in kept:
            if not least <= len(lines[at]) <= len(names):
                _wrong_count(path, at + 1, len(lines[at]), least, names)
        columns = [[lines[at][place] for at in kept] for place in places]
    if not kept:
        _no_lines(path, names)
    query, document, number = columns
    first = [0, *(row for row, (a, b) in enumerate(pairwise(query), 1) if a != b)]
    ids = []
    for texts in ([query[row] for row in first], document):
        longest = max(map(len, texts))
        _check_width(longest, len(texts), path, len(raw), largest)
        ids.append(np.array(b"\n".join(texts).decode().split("\n"), f"<U{longest}"))
    rest = raw.split(b"\n", kept[0] + 1)[kept[0]].split(None, places[2] + 1)[places[2] + 1 :]
    return Fields(
        qid=ids[0],
        repeats=np.diff([*first, len(kept)]),
        docid=ids[1],
        value=_numbers(number, names[places[2]], path, kept),
        line=np.array(kept) + 1,
        last=b"".join(rest).decode().strip(),
    )


def _columns_of_even(raw: bytes) -> list[list[bytes]] | None:
    """The columns of lines with as many fields each and one blank between two; None for any other text."""
    if raw[:1].isspace() or any(other in raw for other in _OTHER_BLANKS):
        return None
    fields, lines = len(raw[: raw.find(b"\n")].split()), raw.count(b"\n")
    parts = raw.replace(b"\n", b" \n ").split(b" ")
    if parts.pop() or len(parts) != lines * (fields + 1) or parts[fields :: fields + 1].count(b"\n") != lines:
        return None
    return [parts[field :: fields + 1] for field in range(fields)]


def _numbers(texts: list[bytes], what: str, path: str | Path, lines: list[int]) -> Floats:
    """Numbers as texts: at once, or one by one where a text is none."""
    with suppress(ValueError):
        values = np.array(list(map(float, texts)))
        if not np.isnan(values).any() and b"_" not in b"".join(texts):
            return values
    return np.array(
        [_number_of(text.decode(), what, path, at + 1) for text, at in zip(texts, lines, strict=True)]
    )


def _wrong_count(path: str | Path, line: int, count: int, least: int, names: Sequence[str]) -> NoReturn:
    raise ValueError(
        f"{path}, line {line}: a line has {least if count < least else len(names)} fields "
        f"({' '.join(names)}), got {count}"
    )


def _no_lines(path: str | Path, names: Sequence[str]) -> NoReturn:
    raise ValueError(f"{path} holds no lines; each line is: {' '.join(names)}")


def _check_width(longest: int, ids: int, path: str | Path, size: int, largest: int | None) -> None:
    why = f"an id of {longest:,} bytes, the width of all others,"
    check_bound(path, size, 4 * longest * ids, largest, why, times=100)


def _check_text(raw: bytes, path: str | Path) -> None:
    at = raw.find(b"\0")
    if at < 0 and not raw.isascii():
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            at = error.start
    if at >= 0:
        line = raw.count(b"\n", 0, at) + 1
        raise ValueError(
            f"{path}, line {line}: byte {raw[at]:#04x} is not UTF-8 text; convert the file to UTF-8"
        )


def _parse_rest(raw: bytes, span: Ints, numbers: Floats, lines: Ints, what: str, path: str | Path) -> None:
    """Parse the numbers that the kernel left as nan: 1e300, inf, or no number at all."""
    for row in np.flatnonzero(np.isnan(numbers)).tolist():
        numbers[row] = _number_of(raw[span[0, row] : span[1, row]].decode(), what, path, lines[row])


def _number_of(text: str, what: str, path: str | Path, line: int) -> float:
    value = math.nan
    with suppress(ValueError):
        value = float(text) if "_" not in text else math.nan
    if math.isnan(value):
        raise ValueError(f"{path}, line {line}: the {what} must be a number, got {text!r}")
    return value


def _texts(data: Bytes, span: Ints) -> NDArray[np.str_]:
    start, end = np.ascontiguousarray(span[0]), np.ascontiguousarray(span[1])
    width = int((end - start).max())
    codes = np.zeros((len(start), width), np.uint32)
    decode(data, start, end, codes)
    return codes.view(f"<U{width}").reshape(-1)
