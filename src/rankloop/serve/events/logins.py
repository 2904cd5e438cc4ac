"""Logins that were ended: their cookies are not taken any more, by any process."""

import time
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from rankloop.serve.events.tables import ended_logins
from rankloop.serve.events.writing import insert_new

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["end_login", "is_ended"]


def end_login(store: "Store", login: str, *, lifetime: float) -> None:
    """End a login; it is remembered for as long as its cookie could last."""
    now = time.time()
    with store.writing() as connection:
        connection.execute(delete(ended_logins).where(ended_logins.c.until < now))
        insert_new(connection, ended_logins, [{"login": login, "until": now + lifetime}])


def is_ended(store: "Store", login: str) -> bool:
    with store.reading() as connection:
        found = connection.execute(select(ended_logins.c.login).where(ended_logins.c.login == login))
        return found.first() is not None
