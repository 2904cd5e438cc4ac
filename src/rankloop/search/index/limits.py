"""What a document may be: checked before it is taken, so that whatever is committed can be read again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop.search.field import shown

__all__ = ["GAP", "checked_id", "checked_size", "checked_values", "checked_words"]

LONGEST_ID = 500  # characters, as the service has it
LONGEST_WORD = 10_000  # characters
LARGEST_DOCUMENT = 100 << 20  # bytes, as JSON
DEEPEST = 100  # lists and mappings in each other
MOST_VALUES = 10_000  # names in a document
GAP = 100  # positions between two texts of one field, so that no phrase spans both
_INTS = np.iinfo(np.int64)
_LAST_POSITION = np.iinfo(np.int32).max


def checked_id(value: Any, kind: str | None) -> tuple[str, str]:
    """An id as text, and the kind of ids: the first document decides between whole numbers and text.

    >>> checked_id(7, None), checked_id("a", None), checked_id("007", "int")
    (('7', 'int'), ('a', 'text'), ('7', 'int'))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer) or value == "":
        raise ValueError(f"an id is text or a whole number, got {type(value).__name__} {shown(value)}")
    wanted = kind or ("text" if isinstance(value, str) else "int")
    if wanted == "int":
        if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit()):
            raise ValueError(f"the ids of this index are whole numbers, got {shown(value)}")
        text = value.removeprefix("-").lstrip("0") if isinstance(value, str) else ""
        if len(text) > 19 or not _INTS.min <= int(value) <= _INTS.max:
            raise ValueError(
                f"an id that is a number has 64 bits ({_INTS.min} to {_INTS.max}), got {shown(value)}; "
                "make an index whose first id is text"
            )
        return str(int(value)), wanted
    id = str(value)
    if len(id) > LONGEST_ID:
        raise ValueError(f"an id has at most {LONGEST_ID} characters, got {len(id)}: {shown(id)}")
    if "\0" in id or not _encodable(id):
        raise ValueError(f"an id has no zero character and no half of a surrogate pair, got {shown(id)}")
    return id, wanted


def checked_words(texts: list[list[str]], new: set[str]) -> None:
    """Refuse a field with a word that is too long, or with more words than positions."""
    longest = max(new, key=len, default="")
    if len(longest) > LONGEST_WORD:
        raise ValueError(
            f"words of at most {LONGEST_WORD} letters, got one of {len(longest)}: {shown(longest)}"
        )
    if sum(map(len, texts)) + GAP * len(texts) > _LAST_POSITION:
        raise ValueError(f"fewer words; with {GAP} for each text they number {_LAST_POSITION:,} at most")


def checked_values(document: Mapping[Any, Any]) -> None:
    """Refuse names that are no text, too many of them, and values nested too deeply."""
    if len(document) > MOST_VALUES:
        raise ValueError(f"a document has at most {MOST_VALUES} names, got {len(document)}")
    for name in document:
        if not isinstance(name, str):
            raise ValueError(f"names in a document are text, got {type(name).__name__} {shown(name)}")
    inside: list[Any] = [document]
    for _ in range(DEEPEST):
        inside = [
            value
            for one in inside
            for value in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(value, Mapping | list | tuple)
        ]
        if not inside:
            return
    raise ValueError(f"lists and mappings are nested at most {DEEPEST} deep")


def checked_size(stored: bytes) -> None:
    """Refuse a document that takes too much room."""
    if len(stored) > LARGEST_DOCUMENT:
        raise ValueError(
            f"a document has at most {LARGEST_DOCUMENT >> 20} MB as JSON, got {len(stored)} bytes"
        )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
