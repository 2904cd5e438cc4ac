"""A thread that keeps a service up to date."""

import threading
import time
from collections.abc import Callable

from rankloop.serve.events.connections import StoreAway
from rankloop.serve.events.time_limit import time_limit

__all__ = ["Watcher"]

SECONDS = 0.5  # between looks; what others promote is loaded and serves within a second
LONGEST = 30.0  # seconds of a look, after which the database is away
TIDY = 3600.0  # seconds


class Watcher:
    """Calls `reload` twice a second and `tidy` every hour; `trouble` says why the last look failed."""

    def __init__(self, reload: Callable[[], object], tidy: Callable[[], object]) -> None:
        self.trouble: str | None = None
        self._reload, self._tidy = reload, tidy
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="rankloop-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the look under way is finished first."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _watch(self) -> None:
        tidied = -TIDY
        while not self._stopped.wait(SECONDS):
            try:
                with time_limit(LONGEST):
                    self._reload()
                if time.monotonic() - tidied > TIDY:
                    tidied = time.monotonic()
                    self._tidy()
                self.trouble = None
            except (StoreAway, OSError, ValueError) as error:
                self.trouble = str(error)
