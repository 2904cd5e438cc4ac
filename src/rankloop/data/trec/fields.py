"""Text lines of fields separated by blanks: a query id, a document id and a number."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bools, Bytes, Floats, Ints
from rankloop._jit import has_compiler, kernel, part
from rankloop.data.files.bound import check_bound
from rankloop.data.files.whole import read_whole

__all__ = ["Fields", "read_fields"]

_SMALL = 4 << 20  # bytes that Python splits in less time than the compiler takes to load
_TENS = np.power(10.0, np.arange(23), dtype=np.float64)


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
    rows, bad_line, count = _tokenise(
        data, places, least, len(names), int(header), _TENS, spans, numbers, lines, heads
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
    lines = [line.split() for line in raw.split(b"\n")]
    kept = [at for at, fields in enumerate(lines) if fields and at >= header]
    for at in kept:
        if not least <= len(lines[at]) <= len(names):
            _wrong_count(path, at + 1, len(lines[at]), least, names)
    if not kept:
        _no_lines(path, names)
    query, document, number = ([lines[at][place] for at in kept] for place in places)
    what = names[places[2]]
    value = [_number_of(text.decode(), what, path, at + 1) for text, at in zip(number, kept, strict=True)]
    first = [0, *(row for row, (a, b) in enumerate(pairwise(query), 1) if a != b)]
    ids = []
    for texts in ([query[row] for row in first], document):
        longest = max(map(len, texts))
        _check_width(longest, len(texts), path, len(raw), largest)
        ids.append(np.array([text.decode() for text in texts], f"<U{longest}"))
    rest = raw.split(b"\n", kept[0] + 1)[kept[0]].split(None, places[2] + 1)[places[2] + 1 :]
    return Fields(
        qid=ids[0],
        repeats=np.diff([*first, len(kept)]),
        docid=ids[1],
        value=np.array(value),
        line=np.array(kept) + 1,
        last=b"".join(rest).decode().strip(),
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
    _decode(data, start, end, codes)
    return codes.view(f"<U{width}").reshape(-1)


@kernel
def _decode(data: Bytes, start: Ints, end: Ints, codes: NDArray[np.uint32]) -> None:
    """Bytes of valid UTF-8 as code points."""
    for row in range(len(start)):
        at = start[row]
        place = 0
        while at < end[row]:
            byte = np.uint32(data[at])
            more = 0 if byte < 0x80 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            code = byte if more == 0 else byte & np.uint32(0x3F >> more)
            for _ in range(more):
                at += 1
                code = (code << np.uint32(6)) | (np.uint32(data[at]) & np.uint32(0x3F))
            codes[row, place] = code
            place += 1
            at += 1


@kernel
def _tokenise(
    data: Bytes,
    places: Ints,
    least: int,
    most: int,
    skip: int,
    tens: Floats,
    spans: Ints,
    numbers: Floats,
    lines: Ints,
    heads: Bools,
) -> Any:
    """Find the fields and parse the numbers; on a wrong line give its number and its count of fields."""
    at, row, line, size = 0, 0, 0, len(data)
    while at < size:
        line += 1
        # Split the line at blanks; remember where the wanted fields begin and end.
        field = 0
        while at < size and data[at] != 10:
            if data[at] == 32 or 9 <= data[at] <= 13:
                at += 1
                continue
            begin = at
            while at < size and data[at] != 32 and not 9 <= data[at] <= 13:
                at += 1
            which = places[field] if field < most else -1
            if which >= 0:
                spans[which, 0, row] = begin
                spans[which, 1, row] = at
            field += 1
        at += 1
        if field == 0 or line <= skip:
            continue
        if field < least or field > most:
            return row, line, field
        # Parse the number; compare the query with the one before, so that only its changes are decoded.
        lines[row] = line
        numbers[row] = _number(data, spans[2, 0, row], spans[2, 1, row], tens)
        query, length = spans[0, 0, row], spans[0, 1, row] - spans[0, 0, row]
        same = row > 0 and spans[0, 1, row - 1] - spans[0, 0, row - 1] == length
        i = 0
        while same and i < length:
            same = data[spans[0, 0, row - 1] + i] == data[query + i]
            i += 1
        heads[row] = not same
        row += 1
    return row, 0, 0


@part
def _number(data: Bytes, at: Any, end: int, tens: Floats) -> float:
    """The nearest double to a plain decimal of at most 18 digits; nan for every other spelling."""
    negative = data[at] == 45
    if negative or data[at] == 43:
        at += 1
    whole = np.int64(0)
    seen, digits, places, point = 0, 0, 0, False
    while at < end:
        byte = data[at]
        if 48 <= byte <= 57:
            whole = whole * 10 + np.int64(byte - 48)
            seen += 1
            digits += int(whole > 0)
            places += int(point)
        elif byte == 46 and not point:
            point = True
        else:
            return np.nan
        if digits > 18 or places > 22:
            return np.nan
        at += 1
    if seen == 0:
        return np.nan
    high = np.float64(whole >> 30) * 1073741824.0
    low = np.float64(whole & 1073741823)
    value = _divide(high, low, tens[places])
    return -value if negative else value


@part
def _divide(high: float, low: float, by: float) -> float:
    """(high + low) / by, correctly rounded (nan where that is uncertain), by Dekker's exact product."""
    first = (high + low) / by
    a = first * 134217729.0
    a = a - (a - first)
    b = by * 134217729.0
    b = b - (b - by)
    product = first * by
    error = ((a * b - product) + a * (by - b) + (first - a) * b) + (first - a) * (by - b)
    rest = (((high - product) + low) - error) / by
    if first + rest * (1 + 1e-9) != first + rest * (1 - 1e-9):
        return np.nan
    return first + rest
