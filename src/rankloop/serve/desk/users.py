"""People who work with the service: a name, a role, and the hash of a token."""

import hashlib
import re
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, select

from rankloop._names import one_of, unknown
from rankloop.serve.events.tables import users
from rankloop.serve.events.writing import insert_new, upsert

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = [
    "ADMIN",
    "ROLES",
    "User",
    "add_user",
    "check_user",
    "hashed",
    "known_users",
    "remove_user",
    "renew_token",
    "user_of_token",
]

ROLES = ("reader", "judge", "admin")  # each may do what those before it may
ADMIN = "admin"  # the name of who has the token of the config
_NAME = re.compile(r"[\w.@-]{1,40}")
_KEY = re.compile(r"[0-9a-f]{32}")  # the hash of a visitor


class User(NamedTuple):
    """A person who logged in."""

    name: str
    role: str
    time: float = 0.0
    token: str = ""  # its hash

    def may(self, role: str) -> bool:
        """Whether this person may do what a role may.

        >>> User("ann", "judge").may("reader"), User("ann", "judge").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def check_user(name: str, role: str) -> None:
    """Refuse names that could be mistaken for others, and unknown roles."""
    one_of("role", role, ROLES)
    if not _NAME.fullmatch(name) or _KEY.fullmatch(name) or name.lower() == ADMIN:
        raise ValueError(
            f"a name has 1 to 40 letters, digits, dots, dashes or @, and is not {ADMIN!r}; got {name[:50]!r}"
        )


def add_user(store: "Store", name: str, role: str) -> str:
    """Add a person; gives the token, which is not stored and cannot be shown again."""
    check_user(name, role)
    token = secrets.token_urlsafe(24)
    row = {"name": name, "role": role, "token": hashed(token), "time": time.time()}
    with store.writing() as connection:
        if not insert_new(connection, users, [row]):
            raise ValueError(f"there is a user {name!r} already; remove it first, or give it a new token")
    return token


def renew_token(store: "Store", name: str, role: str | None = None) -> str:
    """A new token, and another role if one is named; the old token and its logins end."""
    found = _named(store, name)
    token = secrets.token_urlsafe(24)
    row = {"name": name, "role": one_of("role", role or found.role, ROLES), "token": hashed(token)}
    with store.writing() as connection:
        upsert(connection, users, {**row, "time": found.time})
    return token


def remove_user(store: "Store", name: str) -> None:
    """Remove a person, whose logins end; what they judged stays."""
    _named(store, name)
    with store.writing() as connection:
        connection.execute(delete(users).where(users.c.name == name))


def known_users(store: "Store") -> list[User]:
    """All people, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(users).order_by(users.c.name)).mappings().all()
    return [User(row["name"], row["role"], row["time"], row["token"]) for row in rows]


def user_of_token(store: "Store", token: str) -> User | None:
    """The person with a token. Tokens are long and random, so that one plain hash of them is enough."""
    wanted = hashed(token)
    return next((one for one in known_users(store) if secrets.compare_digest(one.token, wanted)), None)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _named(store: "Store", name: str) -> User:
    known = {one.name: one for one in known_users(store)}
    if name not in known:
        raise unknown("user", name, known)
    return known[name]
