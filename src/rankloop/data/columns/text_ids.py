"""Ids from a text file: whole numbers where all are, text otherwise."""

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Array

__all__ = ["decoded", "is_text", "text_ids"]


def text_ids(raw: NDArray[np.bytes_]) -> Array:
    """Int64 if every id is written as a plain integer, text otherwise ('007' stays as it is).

    >>> text_ids(np.array([b"7", b"12"])), text_ids(np.array([b"7", b"007"]))
    (array([ 7, 12]), array(['7', '007'], dtype='<U3'))
    """
    try:
        numbers = raw.astype(np.int64)
    except (ValueError, OverflowError):
        return decoded(raw)
    if np.array_equal(numbers.astype(raw.dtype), raw):
        return numbers
    return decoded(raw)


def decoded(raw: NDArray[np.bytes_]) -> NDArray[np.str_]:
    """Ids as text."""
    try:
        return raw.astype(np.str_)  # plain ASCII, and fast
    except UnicodeDecodeError:
        return np.char.decode(raw, "utf-8")


def is_text(raw: bytes) -> bool:
    """Whether an id is UTF-8 without zero bytes, which numpy drops at the end of a text."""
    try:
        return "\0" not in raw.decode()
    except UnicodeDecodeError:
        return False
