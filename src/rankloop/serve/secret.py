"""The key of all signatures: of the environment, of a database that services share, or of a folder."""

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from rankloop.serve.events.connections import StoreAway
from rankloop.serve.events.tables import signing_key
from rankloop.serve.events.writing import insert_new

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["SECRET_VARIABLE", "SWAPPED", "OneSecret", "hash_of_key", "read_secret", "secret"]

SECRET_VARIABLE = "RANKLOOP_SECRET"
SHORTEST = 32  # characters
_FIRST, _LAST = ord("!"), ord("~")  # of the characters of a key
SWAPPED = (
    "is not the key with which this service signed before: put that one back, or delete the file "
    "(clicks on pages shown before will not count)"
)
_NEW = "make one with: openssl rand -hex 32"


def secret(home: Path) -> bytes:
    """The key of the environment, or of a file in the folder, made once with mode 600; never printed."""
    given = os.environ.get(SECRET_VARIABLE, "").strip()
    if given:
        if len(given) < SHORTEST:
            raise ValueError(
                f"{SECRET_VARIABLE} has at least {SHORTEST} characters, got {len(given)}; {_NEW}"
            )
        return given.encode()
    path = home / "secret"
    if not path.exists():
        _keep(path, secrets.token_hex(32).encode())
    return read_secret(path)


def read_secret(path: Path) -> bytes:
    """The key in a file; one that is cut short or holds other bytes than text is an error."""
    key = path.read_bytes().strip()
    if len(key) < SHORTEST or not all(_FIRST <= byte <= _LAST for byte in key):
        raise ValueError(f"{path} is damaged; delete it (clicks on pages shown before will not count)")
    return key


class OneSecret:
    """One key for all services on a database that they reach over a network.

    The first service puts its key there, later ones take it. A key of the environment stays out of the
    database, which then has its hash alone: all services must be given the same. The file in the folder is a
    copy, with which a service starts while the database does not answer.
    """

    def __init__(self, store: "Store", home: Path) -> None:
        self.store, self.home = store, home
        self.agreed = False
        self.trouble: str | None = None

    def agree(self) -> None:
        """Take the key of the database, or give it ours; an error where they differ.

        A store in our own folder has its hash alone, which tells that the file was swapped.
        """
        if self.agreed:
            return
        path = self.home / "secret"
        if not self.store.is_shared:
            with suppress(StoreAway):
                self.trouble = None if os.environ.get(SECRET_VARIABLE) else self._swapped(path)
                self.agreed = self.trouble is None
            return
        ours = secret(self.home) if os.environ.get(SECRET_VARIABLE) or path.exists() else None
        try:
            theirs = self._exchanged(ours)
        except StoreAway:
            if ours is None:
                raise StoreAway(
                    "the first start of a service needs its database, which has the key of signatures, and "
                    f"{self.store.name} does not answer; start again later, or set {SECRET_VARIABLE}"
                ) from None
            return
        if ours is None:
            _keep(path, theirs)
        self.agreed = True

    def _swapped(self, path: Path) -> str | None:
        """What is wrong with the file; one that was missing is made, and is right from then on."""
        row = signing_key.c.row == 1
        if path.exists():
            hashed = hash_of_key(read_secret(path))
            with self.store.reading() as connection:
                found = connection.execute(select(signing_key.c.sha256).where(row)).scalar()
            if found is not None:
                return None if found == hashed else f"{path} {SWAPPED}"
        with self.store.writing() as connection:
            connection.execute(delete(signing_key).where(row))
            hashed = hash_of_key(secret(self.home))
            connection.execute(insert(signing_key), {"row": 1, "sha256": hashed, "secret": None})
        return None

    def _exchanged(self, ours: bytes | None) -> bytes:
        """The key of all services, which is ours where no other has put one there."""
        kept = None if os.environ.get(SECRET_VARIABLE) else ours or secrets.token_hex(32).encode()
        hashed = hash_of_key(ours or kept or b"")
        row = {"row": 1, "sha256": hashed, "secret": None if kept is None else kept.decode("ascii")}
        with self.store.writing() as connection:
            insert_new(connection, signing_key, [row])
            found = connection.execute(select(signing_key).where(signing_key.c.row == 1)).mappings().one()
        if ours is not None and found["sha256"] != hashed:
            mine = f"{SECRET_VARIABLE}" if kept is None else f"{self.home / 'secret'}"
            raise ValueError(
                f"other services on {self.store.name} sign with another key than {mine}: "
                + (
                    "give all of them the same"
                    if kept is None
                    else "delete that file to take theirs (clicks on pages shown before will not count)"
                )
            )
        if ours is None and found["secret"] is None:
            raise ValueError(
                f"services on {self.store.name} have their key in {SECRET_VARIABLE}; set it here as well"
            )
        return ours or str(found["secret"]).encode()


def hash_of_key(key: bytes) -> str:
    """What a store has of the key of signatures."""
    return hashlib.sha256(key).hexdigest()


def _keep(path: Path, key: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=".secret.", dir=path.parent)  # mode 600
    with os.fdopen(handle, "wb") as out:
        out.write(key)
        out.flush()
        os.fsync(out.fileno())
    with suppress(FileExistsError):  # another process was first
        os.link(beside, path)
    os.unlink(beside)
