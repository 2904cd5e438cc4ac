"""The audit trail: who changed what, and when."""

import json
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select

from rankloop.serve.events.tables import acts

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["Act", "note_act", "past_acts"]


class Act(NamedTuple):
    """One change."""

    time: float
    who: str
    act: str
    detail: Mapping[str, Any]


def note_act(store: "Store", who: str, act: str, **detail: Any) -> None:
    """Add a change to the trail."""
    row = {"id": secrets.token_hex(8), "time": time.time(), "who": who, "act": act}
    with store.writing() as connection:
        connection.execute(insert(acts), {**row, "detail": json.dumps(detail)})


def past_acts(store: "Store", n: int = 50, *, since: float | None = None) -> list[Act]:
    """The last changes, newest first."""
    statement = select(acts).order_by(acts.c.time.desc(), acts.c.id).limit(n)
    if since is not None:
        statement = statement.where(acts.c.time >= since)
    with store.reading() as connection:
        rows = connection.execute(statement).mappings().all()
    return [Act(row["time"], row["who"], row["act"], json.loads(row["detail"])) for row in rows]
