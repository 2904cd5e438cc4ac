"""Values that every JSON client can read."""

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["clean_text", "json_value"]


def json_value(value: Any, *, strict: bool = False) -> Any:
    """A value in JSON's types: nan and infinity become null, other types text, or an error if `strict`.

    >>> json_value({"a": (1, float("nan")), "b": {1, 1}})
    {'a': [1, None], 'b': '{1}'}
    """
    if isinstance(value, str):
        return clean_text(value)
    if type(value) is int or value is None:  # before the slow look at what a mapping is
        return value
    if isinstance(value, Mapping):
        return {clean_text(str(key)): json_value(one, strict=strict) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(one, strict=strict) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (int, float)):
        return value
    if strict:
        raise TypeError(
            f"a {type(value).__name__} is not JSON serializable; give text, numbers, lists, dicts"
        )
    return clean_text(str(value))


def clean_text(value: str) -> str:
    """Text that can be encoded: half a surrogate pair becomes a question mark."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
