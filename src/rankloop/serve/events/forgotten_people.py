"""People who asked to be forgotten, also in a file: a database that is restored forgets them again."""

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["ForgottenPeople"]


class ForgottenPeople:
    """Forgets people in a store, and remembers the keyed hashes of who was forgotten in a file of mode 600.

    `epoch` is the number of the last forgetting that this process knows of. Every page carries it: pages of a
    person with an earlier number than their forgetting are not stored, whatever the clocks say.
    """

    def __init__(self, path: Path, store: "Store") -> None:
        self.path, self.store = path, store
        self.epoch = 0
        self._lock = threading.Lock()

    def forget(self, user: str) -> int:
        """Delete everything of a person, by key; gives the number of pages deleted."""
        with self._lock:
            self._note(user)
        gone = self.store.forget(user)
        self.catch_up()
        return gone

    def catch_up(self) -> None:
        """Learn of people whom others forgot; after a restore, forget again who is in the file."""
        known = self.store.forget_epoch()
        if known < self.epoch or self.epoch == 0:
            missing = sorted(self._noted() - self.store.forgotten())
            for user in missing:
                self.store.forget(user)
            known = self.store.forget_epoch()
        self.epoch = known

    def _noted(self) -> set[str]:
        """The people in the file; an unfinished last line is nobody."""
        try:
            return {line for line in self.path.read_text("ascii").splitlines() if len(line) == _KEY}
        except FileNotFoundError:
            return set()

    def _note(self, user: str) -> None:
        if user in self._noted():
            return
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, f"{user}\n".encode("ascii"))
            os.fsync(file)
        finally:
            os.close(file)


_KEY = 32  # characters of a keyed hash
