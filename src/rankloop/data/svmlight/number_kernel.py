"""Kernels that parse numbers, sixteen bytes of text at a time.

A value ends before its first blank; the words that end with it are read, the digits before its point moved
over it, and summed as one word (Lemire, 2018), without a loop; one exact division then rounds once (Clinger,
1990).
"""

import sys
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from rankloop._arrays import Bytes
from rankloop._jit import inlined, part

__all__ = ["FLOAT32_END", "address", "byte", "is_end", "load", "long_number", "number"]

# 10**22 is the last power of ten that a float64 holds exactly.
_POWERS = np.array([float(f"1e{i}") for i in range(281)])
# The last i of eight bytes, of which the first is the lowest.
_LAST = np.array([2**64 - 2 ** (8 * (8 - i)) for i in range(9)], np.uint64)
_EXACT = np.uint64(2**53)
BEFORE = 24  # bytes before the end of a plain number, which are read
FLOAT32_END = 3.4028235677973366e38  # the least value that rounds to infinity

_ZEROS = np.uint64(0x3030303030303030)
_LOWER_CASE = np.uint64(0x20202020)
_PAIR = np.uint64(0x000000FF000000FF)
_HUNDREDS = np.uint64(0x000F424000000064)
_UNITS = np.uint64(0x0000271000000001)
_NULL = np.uint64(0x6C6C756E)
_NAN = np.uint64(0x006E616E)


def _address(typing: Any, text: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return numba.int64(text), code


def _read(builder: Any, args: Any, what: Any) -> Any:
    """What lies at the place `args[1]` of the text that begins at the address `args[0]`."""
    return builder.load(builder.inttoptr(builder.add(*args), what.as_pointer()), align=1)


def _byte(typing: Any, text: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(_read(builder, args, ir.IntType(8)), ir.IntType(64))

    return numba.int64(numba.int64, numba.int64), code


def _load(typing: Any, text: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _read(builder, args, ir.IntType(64))
        return value if sys.byteorder == "little" else builder.bswap(value)

    return numba.uint64(numba.int64, numba.int64), code


def _bits(compare: Callable[[Any, Any], Any]) -> Any:
    """An intrinsic: which of the sixteen bytes from `at` on are so, the first one in the lowest bit."""

    def bits(typing: Any, text: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = compare(builder, _read(builder, args, ir.VectorType(ir.IntType(8), 16)))
            found = builder.bitcast(found, ir.IntType(16))
            if sys.byteorder != "little":
                found = builder.bitreverse(found)
            return builder.zext(found, ir.IntType(64))

        return numba.uint64(numba.int64, numba.int64), code

    return intrinsic(bits)


def _sixteen(one: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(8), 16), [one] * 16)


def _first(typing: Any, mask: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(numba.boolean, False))

    return numba.int64(numba.uint64), code


# A text is the address of its first byte: an array would be counted as held and let go for every number.
address = cast(Callable[[Bytes], int], intrinsic(_address))
# The byte at `at`, and the eight bytes from `at` on as one number.
byte = cast(Callable[[int, int], int], intrinsic(_byte))
load = cast(Callable[[int, int], np.uint64], intrinsic(_load))
# Which of the sixteen bytes from `at` on are blank (a space or a control character), a point or a digit; and
# the lowest bit that is set.
Bits = Callable[[int, int], np.uint64]
blank_bits = cast(Bits, _bits(lambda build, text: build.icmp_unsigned("<=", text, _sixteen(32))))
point_bits = cast(Bits, _bits(lambda build, text: build.icmp_unsigned("==", text, _sixteen(46))))
digit_bits = cast(
    Bits, _bits(lambda build, text: build.icmp_unsigned("<=", build.sub(text, _sixteen(48)), _sixteen(9)))
)
first = cast(Callable[[np.uint64], int], intrinsic(_first))


@inlined
def eight_digits(word: np.uint64) -> np.uint64:
    """The number that eight bytes of 0 to 9 spell, the first byte leading (Lemire, 2018)."""
    pairs = word * np.uint64(10) + (word >> np.uint64(8))
    return ((pairs & _PAIR) * _HUNDREDS + ((pairs >> np.uint64(16)) & _PAIR) * _UNITS) >> np.uint64(32)


@inlined
def joined(text: int, end: int, point: int, fraction: int, digits: int) -> np.uint64:
    """The last eight digits before `end` without the point, if there is one, as bytes of 0 to 9."""
    behind = _LAST[np.uint64(fraction)]
    word = (load(text, end - 8) & behind) | (load(text, end - 8 - point) & ~behind)
    kept: np.uint64 = (word ^ _ZEROS) & _LAST[np.uint64(digits)]
    return kept


@inlined
def is_end(letter: int) -> bool:
    return letter == 32 or letter == 10 or letter == 9 or letter == 13 or letter == 35


@inlined
def number(text: int, at: int) -> tuple[float, int, bool]:
    """The value at `at`, where it ends, and whether it is plain: digits with or without a point, at most 15.

    For any other spelling `long_number` is called by the caller: a call in here doubles the time. Up to 15
    digits and a power of ten up to 22 are exact in float64, and so their quotient is rounded once, as
    Python's float() is.
    """
    letter = byte(text, at)
    negative = letter == 45
    sign = np.uint64(negative or letter == 43)
    # The value ends before the first blank; it is plain if digits and at most one point lie between.
    stop = first(blank_bits(text, at) | np.uint64(1 << 16))
    behind = np.uint64(1) << np.uint64(stop)
    every = behind - np.uint64(1) - sign
    points = point_bits(text, at) & every
    digits = digit_bits(text, at) & every
    end = at + stop
    plain = (
        (points & (points - np.uint64(1)) == 0)
        & (points | digits == every)
        & (digits != 0)
        & (stop < 16)
        & (end >= BEFORE)
        & is_end(byte(text, end))
    )
    value = 0.0
    if plain:
        # The words that end with the value are read, so that no digit moves but those before the point.
        point = int(points != 0)
        fraction = stop - first(points | behind) - point
        size = stop - int(sign) - point
        if size <= 8:
            mantissa = eight_digits(joined(text, end, point, fraction, size))
        elif fraction <= 8:
            mantissa = eight_digits(joined(text, end, point, fraction, 8))
            mantissa += eight_digits(joined(text, end - 8 - point, 0, 0, size - 8)) * np.uint64(10**8)
        else:
            mantissa = eight_digits(joined(text, end, 0, 8, 8))
            mantissa += eight_digits(joined(text, end - 8, 1, fraction - 8, size - 8)) * np.uint64(10**8)
        value = np.float64(np.int64(mantissa)) / _POWERS[np.uint64(fraction)]
    return -value if negative else value, end, plain


@part
def long_number(text: int, at: int) -> tuple[float, int, bool]:
    """Any other spelling: many digits, an exponent, nan, NULL.

    The quotient is off by less than 2**-51 of itself; where that could change the float32, Python decides.
    """
    negative = byte(text, at) == 45
    if negative or byte(text, at) == 43:
        at += 1
    word = load(text, at)
    if (word & np.uint64(0xFFFFFFFF)) | _LOWER_CASE == _NULL and is_end(byte(text, at + 4)):
        return np.nan, at + 4, True
    if (word & np.uint64(0xFFFFFF)) | np.uint64(0x202020) == _NAN and is_end(byte(text, at + 3)):
        return np.nan, at + 3, True
    mantissa, digits, exponent, cut, point = np.uint64(0), 0, 0, False, False
    while True:
        digit = byte(text, at) - 48
        if 0 <= digit <= 9:
            if mantissa < np.uint64(10**18):
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                exponent -= point
            else:
                cut = True
                exponent += not point
            digits += 1
        elif digit == -2 and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, at, False
    if byte(text, at) | 32 == 101:
        at += 1
        down = byte(text, at) == 45
        if down or byte(text, at) == 43:
            at += 1
        power = 0
        if not 48 <= byte(text, at) <= 57:
            return 0.0, at, False
        while 48 <= byte(text, at) <= 57:
            power = min(power * 10 + byte(text, at) - 48, 1 << 40)
            at += 1
        exponent += -power if down else power
    if not is_end(byte(text, at)):
        return 0.0, at, False
    value = np.float64(mantissa)
    if mantissa != 0:
        if exponent < -280 or exponent > 280:
            return 0.0, at, False
        value = value / _POWERS[-exponent] if exponent < 0 else value * _POWERS[exponent]
        if mantissa > _EXACT or cut or exponent < -22 or exponent > 22:
            low, high = np.float32(value * (1 - 2.0**-50)), np.float32(value * (1 + 2.0**-50))
            if low != high:
                return 0.0, at, False
    return -value if negative else value, at, True
