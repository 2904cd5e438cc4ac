"""Kernels that parse numbers, eight bytes of text at a time.

A value ends at its first byte that is no digit or point; the point is removed and the digits are summed as
one word (Lemire, 2018), without a loop; one exact division then rounds once (Clinger, 1990).
"""

import sys
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from numba.extending import intrinsic

from rankloop._arrays import Bytes
from rankloop._jit import inlined, part

__all__ = ["FLOAT32_END", "byte", "is_end", "load", "number"]

# 10**22 is the last power of ten that a float64 holds exactly.
_POWERS = np.array([float(f"1e{i}") for i in range(281)])
_TENS = np.array([10**i for i in range(9)], np.uint64)
_EXACT = np.uint64(2**53)
FLOAT32_END = 3.4028235677973366e38  # the least value that rounds to infinity

_ZEROS = np.uint64(0x3030303030303030)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOWER_CASE = np.uint64(0x20202020)
_PAIR = np.uint64(0x000000FF000000FF)
_HUNDREDS = np.uint64(0x000F424000000064)
_UNITS = np.uint64(0x0000271000000001)
_NULL = np.uint64(0x6C6C756E)
_NAN = np.uint64(0x006E616E)


def _load(typing: Any, text: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        word = context.get_value_type(numba.uint64).as_pointer()
        word = builder.bitcast(builder.gep(array.data, [args[1]]), word)
        value = builder.load(word, align=1)
        return value if sys.byteorder == "little" else builder.bswap(value)

    return numba.uint64(text, numba.int64), code


def _byte(typing: Any, text: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        value = builder.load(builder.gep(array.data, [args[1]]))
        return builder.zext(value, context.get_value_type(numba.int64))

    return numba.int64(text, numba.int64), code


def _first(typing: Any, mask: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.cttz(args[0], context.get_constant(numba.boolean, False))
        return builder.lshr(zeros, context.get_constant(numba.uint64, 3))

    return numba.int64(numba.uint64), code


# The byte at `at`, the eight bytes from `at` on as one number, and the first byte of a number whose high bit
# is set. They skip the check for negative indices, which takes a tenth of the time.
byte = cast(Callable[[Bytes, int], int], intrinsic(_byte))
load = cast(Callable[[Bytes, int], np.uint64], intrinsic(_load))
first = cast(Callable[[np.uint64], int], intrinsic(_first))


@inlined
def not_digits(word: np.uint64) -> np.uint64:
    """The high bit of every byte that is not 0 to 9 once '0' is taken off."""
    return (((word & _LOW_BITS) + _ABOVE_NINE) | word) & _HIGH_BITS


@inlined
def eight_digits(word: np.uint64) -> np.uint64:
    """The number that eight bytes of 0 to 9 spell, the first byte leading (Lemire, 2018)."""
    pairs = word * np.uint64(10) + (word >> np.uint64(8))
    return ((pairs & _PAIR) * _HUNDREDS + ((pairs >> np.uint64(16)) & _PAIR) * _UNITS) >> np.uint64(32)


@inlined
def is_end(letter: int) -> bool:
    return letter == 32 or letter == 10 or letter == 9 or letter == 13 or letter == 35


@inlined
def number(text: Bytes, at: int) -> tuple[float, int, bool]:
    """The value at `at`, where it ends, and whether it is certain; otherwise Python must parse it.

    Up to 14 digits and a power of ten up to 22 are exact in float64, and so their quotient is rounded
    once, as Python's float() is.
    """
    begin = at
    negative = byte(text, at) == 45
    if negative or byte(text, at) == 43:
        at += 1
    # Take eight bytes as one word; `stops` marks those that are no digits.
    word = load(text, at) ^ _ZEROS
    stops = not_digits(word)
    if stops != 0:
        whole = first(stops)
        if byte(text, at + whole) == 46:
            # A point among them: shift the digits behind it down by one byte.
            keep = (np.uint64(1) << np.uint64(8 * whole)) - np.uint64(1)
            digits = (word & keep) | ((word >> np.uint64(8)) & ~keep)
            rest = stops & (stops - np.uint64(1))
            if rest != 0:
                # The value ends within the eight bytes: the usual case, one multiplication and one division.
                end = first(rest)
                if end > 1 and is_end(byte(text, at + end)):
                    mantissa = eight_digits(digits << np.uint64(8 * (9 - end)))
                    value = np.float64(np.int64(mantissa)) / _POWERS[end - whole - 1]
                    return -value if negative else value, at + end, True
            else:
                # Up to eight more digits follow in the next word.
                tail = load(text, at + 8) ^ _ZEROS
                rest = not_digits(tail)
                if rest != 0:
                    more = first(rest)
                    if is_end(byte(text, at + 8 + more)):
                        mantissa = eight_digits(digits << np.uint64(8))
                        if more > 0:
                            mantissa = mantissa * _TENS[more] + eight_digits(
                                tail << np.uint64(8 * (8 - more))
                            )
                        value = np.float64(np.int64(mantissa)) / _POWERS[7 + more - whole]
                        return -value if negative else value, at + 8 + more, True
        elif whole > 0 and is_end(byte(text, at + whole)):  # an integer
            value = np.float64(np.int64(eight_digits(word << np.uint64(8 * (8 - whole)))))
            return -value if negative else value, at + whole, True
    return long_number(text, begin)


@part
def long_number(text: Bytes, at: int) -> tuple[float, int, bool]:
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
