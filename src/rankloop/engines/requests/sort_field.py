"""The order that is asked for in place of the best first."""

from collections.abc import Mapping

from rankloop._names import one_of
from rankloop.search import Field

__all__ = ["sort_field"]


def sort_field(sort: str, fields: Mapping[str, Field]) -> tuple[str, bool]:
    """The field to sort by, and whether the largest come first.

    >>> sort_field("-price", {"price": Field("number")})
    ('price', True)
    """
    known = [name for name, field in fields.items() if field.kind in ("number", "date")]
    return one_of("number or date field to sort by", sort.removeprefix("-"), known), sort.startswith("-")
