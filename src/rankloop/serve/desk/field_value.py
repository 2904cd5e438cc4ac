"""Documents by the value of a field, for rules such as brand = acme or price = 10..20."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rankloop._arrays import Bools
from rankloop._names import one_of
from rankloop.search.index.match import with_values
from rankloop.search.text.query import span_of

if TYPE_CHECKING:
    from rankloop.search import Candidates, Field

__all__ = ["check_value", "having_value", "valued_fields"]

KINDS = ("keyword", "number", "date")


def valued_fields(fields: "Mapping[str, Field]") -> list[str]:
    """The fields that a rule can name."""
    return [name for name, field in fields.items() if field.kind in KINDS]


def check_value(fields: "Mapping[str, Field]", field: str, wanted: str) -> None:
    """Refuse an unknown field, and a value that no document can have."""
    kind = fields[one_of("field of a rule", field, valued_fields(fields))].kind
    if not wanted.strip():
        raise ValueError(f"a rule for {field} needs a value; it is empty")
    if kind != "keyword":
        _ends(field, kind, wanted)


def having_value(found: "Candidates", field: str, wanted: str) -> Bools:
    """Which candidates have a value: a word, whatever its case, or a number or date in a range like 10..20.

    A field that the index does not have any more has no value.
    """
    declared = found.snapshot.fields.get(field)
    if declared is None or declared.kind not in KINDS:
        return np.zeros(len(found), np.bool_)
    if declared.kind != "keyword":
        low, high = _ends(field, declared.kind, wanted)
        values = found.numbers(field)
        inside: Bools = (values >= low) & (values <= high)
        return inside
    has = np.zeros(len(found), np.bool_)
    for segment, at in found.snapshot.by_segment(found.rows):
        has[at] = with_values(segment, field, [wanted])[found.rows[at] - segment.base] > 0
    return has


def _ends(field: str, kind: str, wanted: str) -> tuple[float, float]:
    """The smallest and the largest value; an end that is left out is open."""
    low, dots, high = wanted.partition("..")
    ends = []
    for at, text in enumerate((low, high if dots else low)):
        span = span_of(kind, text.strip()) if text.strip() else (-math.inf, math.inf)
        if span is None or (not text.strip() and not dots):
            like = "10 or 10..20" if kind == "number" else "2024-05-31 or 2024..2025"
            raise ValueError(f"{field!r} is a {kind} field: its value is like {like}, got {wanted[:40]!r}")
        ends.append(float(span[at]))
    return ends[0], ends[1]
