"""Rows of SVMLight ranking text, as parsers give them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Singles

__all__ = ["Block", "Layout", "Place", "shown"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a file: how many, from which index, and the value of those left out."""

    n_features: int | None = None
    zero_based: bool = False
    missing: float = 0.0


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows; the arrays are reused for the next block.

    `runs` holds (row, query id or None, line) wherever the query changes, `texts` what the comment of that
    row says of the query ("" where it says nothing).
    """

    X: Singles
    y: Singles
    runs: list[tuple[int, bytes | None, int]]
    docid: NDArray[np.bytes_] | None
    texts: list[str]
    advance: int


@dataclass(slots=True)
class Place:
    """How much of the file is before a block."""

    lines: int = 0
    rows: int = 0
    named: bool | None = None  # whether lines have a qid, by the first


def shown(token: bytes) -> str:
    """A token for an error message: short, printable, quoted."""
    text = token[:40].decode("utf-8", "backslashreplace")
    return repr(text + "..." if len(token) > 40 else text)
