"""Filters as they are typed: brand=Hare, price=10..50."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.search import Field

__all__ = ["read_filters"]


def read_filters(typed: Iterable[str], fields: "Mapping[str, Field]") -> dict[str, Any]:
    """Filters by field: several values of a keyword field are alternatives, a number or date has ends.

    >>> from rankloop.search import Field
    >>> fields = {"brand": Field("keyword"), "price": Field("number")}
    >>> read_filters(["brand=Hare", "brand=Fox", "price=10.."], fields)
    {'brand': ['Hare', 'Fox'], 'price': (10.0, None)}
    """
    from rankloop._names import one_of
    from rankloop.search.field import moment
    from rankloop.search.text.query import span_of

    found: dict[str, Any] = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise ValueError(f"--filter takes field=value or field=low..high, got {text!r}")
        known = [one for one, field in fields.items() if field.kind in ("keyword", "number", "date")]
        kind = fields[one_of("field to filter by", name, known)].kind
        if kind == "keyword":
            found.setdefault(name, []).append(value)
            continue
        if name in found:
            raise ValueError(f"--filter {name} is given twice; give one range, like {name}=10..50")
        ends = span_of(kind, value)
        if ends is None:
            wanted = "a number" if kind == "number" else "a date like 2024-05-31"
            raise ValueError(f"--filter {name} takes {wanted} or low..high, got {value!r}")
        open_or = tuple(None if math.isinf(end) else end for end in ends)
        found[name] = open_or if kind == "number" else tuple(map(moment, open_or))
    return found
