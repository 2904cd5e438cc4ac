"""Ids as they stand in a text file: whole numbers where all are, text otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["decoded", "text_ids"]


def text_ids(raw: NDArray[np.bytes_], what: str) -> NDArray[Any]:
    """Int64 if every id is written as a plain integer, text otherwise ('007' stays as it is).

    >>> text_ids(np.array([b"7", b"12"]), "qid"), text_ids(np.array([b"7", b"007"]), "qid")
    (array([ 7, 12]), array(['7', '007'], dtype='<U3'))
    """
    try:
        numbers = raw.astype(np.int64)
    except (ValueError, OverflowError):
        return decoded(raw, what)
    if np.array_equal(numbers.astype(raw.dtype), raw):
        return numbers
    return decoded(raw, what)


def decoded(raw: NDArray[np.bytes_], what: str) -> NDArray[np.str_]:
    """Ids as text, whatever they look like."""
    try:
        return raw.astype(np.str_)
    except UnicodeDecodeError:
        pass
    try:
        return np.char.decode(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} {error.object!r} is not UTF-8 text; convert the file to UTF-8") from None
