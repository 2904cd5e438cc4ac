"""The order that is asked for in place of the best first."""

from collections.abc import Mapping

from rankloop._names import one_of
from rankloop.search.field import Field

__all__ = ["SCORE", "sort_field"]

SCORE = "score"  # the best first


def sort_field(sort: str | None, fields: Mapping[str, Field]) -> tuple[str, bool] | None:
    """The field to sort by, and whether the largest come first; None for "score", the best first.

    >>> sort_field("-price", {"price": Field("number")})
    ('price', True)
    """
    if sort is None:
        return None
    known = [name for name, field in fields.items() if field.kind in ("number", "date")]
    if sort == SCORE and SCORE not in known:
        return None
    name = one_of("number or date field to sort by", sort.removeprefix("-"), known)
    return name, sort.startswith("-")
