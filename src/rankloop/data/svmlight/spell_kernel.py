"""Kernels that write rows as SVMLight text, every float32 in its fewest digits."""

import numpy as np

from rankloop._arrays import Bytes, Ints, Singles
from rankloop._jit import kernel

__all__ = ["WIDEST_FEATURE", "spell_rows"]

WIDEST_FEATURE = 32  # bytes: blank, index, colon, value

_POWERS = np.array([float(f"1e{i}") for i in range(64)])
_NAN = np.frombuffer(b"nan", np.uint8)
_INF = np.frombuffer(b"inf", np.uint8)


@kernel
def put(out: Bytes, at: int, text: Bytes) -> int:
    """Copy `text` up to its first zero byte."""
    for byte in text:
        if byte == 0:
            break
        out[at] = byte
        at += 1
    return at


@kernel
def put_integer(out: Bytes, at: int, value: int) -> int:
    size, rest = 1, value // 10
    while rest:
        size += 1
        rest //= 10
    for place in range(size):
        out[at + size - 1 - place] = 48 + value % 10
        value //= 10
    return at + size


@kernel
def shortest(value: float, single: np.float32) -> tuple[int, int]:
    """The fewest digits, and their power of ten, that every correct reader parses as `single`.

    The candidate must round to `single` also when it is off by 2**-50 of itself, so neither rounding here
    nor a reader that goes through float64 can give a neighbour.
    """
    lead = int(np.floor(np.log10(value)))
    digits, power = 0, 0
    for places in range(10):
        power = lead - places
        digits = int(np.rint(value * _POWERS[-power] if power < 0 else value / _POWERS[power]))
        near = digits / _POWERS[-power] if power < 0 else digits * _POWERS[power]
        if np.float32(near * (1 - 2.0**-50)) == single and np.float32(near * (1 + 2.0**-50)) == single:
            break
    while digits % 10 == 0:
        digits, power = digits // 10, power + 1
    return digits, power


@kernel
def put_number(out: Bytes, at: int, single: np.float32) -> int:
    if np.isnan(single):
        return put(out, at, _NAN)
    if np.signbit(single):
        out[at] = 45
        at += 1
    value = abs(np.float64(single))
    if np.isinf(value):
        return put(out, at, _INF)
    if value < 1e9 and value == np.floor(value):
        return put_integer(out, at, int(value))
    digits, power = shortest(value, abs(single))
    start = at
    at = put_integer(out, at, digits)
    size = at - start
    point = size + power  # digits before the point
    if power >= 0 or point < -4:
        if size > 1:
            for place in range(at, start + 1, -1):
                out[place] = out[place - 1]
            out[start + 1] = 46
            at += 1
        out[at] = 101
        at += 1
        if point < 1:
            out[at] = 45
            at += 1
        return put_integer(out, at, abs(point - 1))
    ahead = 1 if point > 0 else 2 - point  # bytes inserted: the point, or zeros with it
    stay = max(point, 0)
    for place in range(at - 1, start + stay - 1, -1):
        out[place + ahead] = out[place]
    if point > 0:
        out[start + point] = 46
    else:
        for place in range(start, start + ahead):
            out[place] = 48
        out[start + 1] = 46
    return at + ahead


@kernel
def spell_rows(
    X: Singles,
    y: Singles,
    query: Ints,
    qid: Bytes,
    docid: Bytes,
    qid_word: Bytes,
    docid_word: Bytes,
    base: int,
    sparse: bool,
    out: Bytes,
) -> int:
    """Write the rows to `out`; gives the bytes used. An empty docid is not written."""
    at = 0
    for row in range(len(y)):
        at = put_number(out, at, y[row])
        at = put(out, put(out, at, qid_word), qid[query[row]])
        for column in range(X.shape[1]):
            value = X[row, column]
            if sparse and value == 0:
                continue
            out[at] = 32
            at = put_integer(out, at + 1, column + base)
            out[at] = 58
            at = put_number(out, at + 1, value)
        if docid.shape[1] and docid[row, 0]:
            at = put(out, put(out, at, docid_word), docid[row])
        out[at] = 10
        at += 1
    return at
