"""Whether enough people clicked since the last run for the next one."""

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from rankloop.serve.events.tables import clicks
from rankloop.serve.learning.record import runs

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry

__all__ = ["clicked_pages", "last_look"]


def last_look(store: "Store", registry: "Registry") -> float:
    """When the clicks were learned from last: the end of the window of the last run that ended by itself.

    Before there is one, it is when the version in production was made.
    """
    done = ("promoted", "registered", "too little")
    last = next((run for run in runs(store) if run.state in done), None)
    if last is not None:
        return float(last.record.get("window", {}).get("until", last.started))
    production = registry.roles().production
    return 0.0 if production is None else registry.version(production).time


def clicked_pages(store: "Store", since: float) -> int:
    """The pages with a click that people saw since some time."""
    statement = select(func.count(clicks.c.page_id.distinct())).where(
        clicks.c.time > since, clicks.c.bot.is_(False)
    )
    with store.reading() as connection:
        return int(connection.execute(statement).scalar_one())
