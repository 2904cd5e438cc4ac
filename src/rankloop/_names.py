"""Errors for unknown names, with the nearest known one."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["one_of", "unknown"]

_SHOWN = 60  # names listed: enough for every family, not for the features of a collection
_COMPARED = 10_000  # names among which the nearest is looked for: a mistake does not cost minutes


def unknown(what: str, got: object, known: Iterable[str]) -> ValueError:
    """The error for a name that is not known.

    >>> str(unknown("metric", "ndgc", ["ndcg", "map"]))
    "unknown metric 'ndgc'; did you mean 'ndcg'? known: map, ndcg"
    >>> str(unknown("feature", "a", map(str, range(300))))[-12:]
    'and 240 more'
    >>> str(unknown("user", "ann", []))
    "unknown user 'ann'; there is none yet"
    """
    names = sorted(known)
    near = get_close_matches(str(got).lower(), names[:_COMPARED], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    if not names:
        return ValueError(f"unknown {what} {got!r}; there is none yet")
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ValueError(f"unknown {what} {got!r}{hint} known: {', '.join(names[:_SHOWN])}{more}")


def one_of(what: str, got: str, known: Iterable[str]) -> str:
    """`got` if it is known, the error for it otherwise."""
    names = list(known)
    if got not in names:
        raise unknown(what, got, names)
    return got
