"""A lock against a second writer of a folder; the lock of a dead writer is taken over."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankloop.data.shards.store import Store

__all__ = ["LOCK", "writing"]

LOCK = "writer.json"


@contextmanager
def writing(store: Store) -> Iterator[None]:
    """Lock the folder while the block runs; a folder that another process writes is an error.

    A lock names its machine, its process and when that process started: a dead owner on the same machine is
    recognised and its lock taken over; for another machine the error says which file to delete.
    """
    me = {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid())}
    while not store.claim(LOCK, json.dumps(me).encode()):
        owner = _owner(store)
        if owner is not None and owner != me and _alive(owner):
            raise ValueError(
                f"{store.path} is being written by process {owner.get('pid')} on {owner.get('host')}; "
                f"wait for it, or delete {store.where(LOCK)} if you know that it is dead"
            )
        store.remove(LOCK)
    try:
        yield
    finally:
        store.remove(LOCK)


def _owner(store: Store) -> dict[str, Any] | None:
    """The owner of the lock; None where it was just removed, or its writer died while writing it."""
    try:
        owner = json.loads(store.read(LOCK))
    except (FileNotFoundError, ValueError):
        return None
    return owner if isinstance(owner, dict) else None


def _alive(owner: dict[str, Any]) -> bool:
    if owner.get("host") != socket.gethostname():
        return True
    try:
        os.kill(int(owner.get("pid", 0)), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _started(int(owner["pid"])) == owner.get("started")  # else the id now belongs to another process


def _started(pid: int) -> str | None:
    """When a process started, in clock ticks; None where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None
