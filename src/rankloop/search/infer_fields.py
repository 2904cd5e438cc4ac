"""The fields of documents, inferred from the first ones."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from numbers import Real
from typing import Any

import numpy as np

from rankloop.search.field import NAME, seconds
from rankloop.search.reading.tables import written_number

__all__ = ["infer_fields"]

READ_ALOUD = ("title", "name", "headline", "heading", "body", "text", "description", "summary", "content")
SHORTEST_VECTOR = 8  # numbers; a shorter list is not searched by
SHORT = 4  # words of a keyword at most
REPEATED = 0.8  # of the values of a keyword field are different at most
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,14})(\.\d+)?([eE][-+]?\d{1,2})?")  # 007 is a name, not a number
_PARTED = re.compile("[,' €$£¥\u00a0\u202f]")  # 1,299.00 or 5,99 € is a number too
_LINK = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S+", re.IGNORECASE)


def infer_fields(
    documents: Iterable[Mapping[str, Any]], *, id: str = "id", numbers_as_text: bool = False
) -> dict[str, str]:
    """Infer the kind of each field from its values: what `Index.create` takes as `fields`.

    Numbers are numbers, with `numbers_as_text` also as text, as in CSV ("1,299.00", "5,99 €"); ISO dates are
    dates; short texts that repeat, truth values and lists of short texts are keywords; other texts are text.
    Lists of at least eight numbers, all of one length, are vectors. What is none of these (links, nested
    objects, values of several kinds) is stored with the document and not searched by.

    >>> shoes = {"id": 1, "title": "Red shoes", "price": 80, "added": "2024-05-01", "sizes": ["41", "42"]}
    >>> hat = {"id": 2, "title": "Red hat", "price": 19.9, "url": "https://shop.example/2"}
    >>> infer_fields([shoes, hat])
    {'title': 'text', 'price': 'number', 'added': 'date', 'sizes': 'keyword'}
    """
    values: dict[str, list[Any]] = {}
    for document in documents:
        for name, value in document.items():
            if name not in (id, "id") and value is not None and NAME.fullmatch(str(name)):
                values.setdefault(str(name), []).append(value)
    found = {name: _kind(name, some, numbers_as_text) for name, some in values.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind(name: str, values: list[Any], numbers_as_text: bool) -> str | None:
    """The kind that all values of a field fit; None if there is none."""
    known = [value for value in values if not (isinstance(value, str | list | tuple) and not len(value))]
    if not known:
        return None
    tests: tuple[tuple[str, Callable[[Any], bool]], ...] = (
        ("number", _is_written_number if numbers_as_text else _is_number),
        ("date", _is_date),
        ("keyword", lambda value: isinstance(value, bool)),
    )
    for kind, test in tests:
        if all(map(test, values)):
            return kind
    if all(map(_is_vector, values)):
        sizes = {len(value) for value in values}
        return f"vector:{sizes.pop()}" if len(sizes) == 1 else None
    texts = [text for value in known for text in (value if isinstance(value, list | tuple) else [value])]
    if not all(isinstance(text, str) for text in texts) or all(map(_LINK.fullmatch, texts)):
        return None
    if name.casefold() in READ_ALOUD:
        return "text"
    short = all(len(text.split()) <= SHORT for text in texts)
    lists = any(isinstance(value, list | tuple) for value in known)
    repeated = len(set(texts)) <= REPEATED * len(texts)
    return "keyword" if short and (lists or repeated) else "text"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool)


def _is_written_number(value: Any) -> bool:
    if not isinstance(value, str):
        return _is_number(value)
    if _NUMBER.fullmatch(value.strip()):
        return True
    return _PARTED.search(value) is not None and written_number(value) is not None


def _is_date(value: Any) -> bool:
    if isinstance(value, str) and len(value.strip()) < len("2024-05-01"):
        return False
    try:
        seconds(value)
    except ValueError:
        return False
    return isinstance(value, str | date | np.datetime64)


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list | tuple | np.ndarray)
        and len(value) >= SHORTEST_VECTOR
        and all(map(_is_number, value))
    )
