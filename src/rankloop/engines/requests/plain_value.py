"""Values of documents as every engine takes them."""

import re
from datetime import UTC, datetime
from typing import Any

from rankloop.search import Field
from rankloop.search.field import seconds
from rankloop.search.index.plain import plain

__all__ = ["plain_value"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?")


def plain_value(value: Any, field: Field | None) -> Any:
    """A value as JSON has it; a date that is not written as 2024-05-01 or 2024-05-01T12:30:00Z becomes so.

    >>> plain_value("2024-05-01 12:30", Field("date")), plain_value({2, 1}, None)
    ('2024-05-01T12:30:00+00:00', [1, 2])
    """
    if field is not None and field.kind == "date" and not (isinstance(value, str) and _DATE.fullmatch(value)):
        return datetime.fromtimestamp(seconds(value), UTC).isoformat()
    if isinstance(value, list | tuple):
        return [plain_value(one, None) for one in value]
    return plain(value)
