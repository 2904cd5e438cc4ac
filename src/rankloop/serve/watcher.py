"""A thread that keeps a service up to date."""

import time
from collections.abc import Callable

from rankloop.serve.events.connections import StoreAway
from rankloop.serve.events.time_limit import time_limit
from rankloop.serve.repeated import Repeated

__all__ = ["Watcher"]

SECONDS = 0.5  # between looks; what others promote is loaded and serves within a second
LONGEST = 30.0  # seconds of a look, after which the database is away
TIDY = 3600.0  # seconds


class Watcher(Repeated):
    """Calls `reload` twice a second and `tidy` every hour; `trouble` says why the last look failed."""

    def __init__(self, reload: Callable[[], object], tidy: Callable[[], object]) -> None:
        super().__init__("rankloop-watch", SECONDS)
        self.trouble: str | None = None
        self._reload, self._tidy, self._tidied = reload, tidy, -TIDY

    def turn(self) -> None:
        """A look, and once an hour the rest."""
        try:
            with time_limit(LONGEST):
                self._reload()
            if time.monotonic() - self._tidied > TIDY:
                self._tidied = time.monotonic()
                self._tidy()
            self.trouble = None
        except (StoreAway, OSError, ValueError) as error:
            self.trouble = str(error)
