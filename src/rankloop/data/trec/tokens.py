"""Fields of lines and plain decimals, found by kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bools, Bytes, Floats, Ints
from rankloop._jit import kernel, part

__all__ = ["TENS", "decode", "tokenise"]

TENS = np.power(10.0, np.arange(23), dtype=np.float64)


@kernel
def decode(data: Bytes, start: Ints, end: Ints, codes: NDArray[np.uint32]) -> None:
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
def tokenise(
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
