"""Learning on a schedule, and on request."""

import logging
import threading
import time

from rankloop.serve.config import Config
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.learning.due import clicked_pages, last_look
from rankloop.serve.learning.process import LearningProcess
from rankloop.serve.learning.record import UNDER_WAY
from rankloop.serve.models.registry import Registry

__all__ = ["LearnNow", "Schedule"]

_LOG = logging.getLogger(__name__)


PAUSE = 60.0  # seconds after a run that failed
LOOK = 2.0  # seconds between two looks at how many pages were clicked


class Schedule:
    """Runs `learn_once` every `config.learn_every` seconds, or once people clicked on `config.learn_after`
    pages since the last run; the service notices what it promotes.

    Runs never overlap, and `stop` kills the one under way, which leaves nothing half-written. `last` is the
    message of the last run.
    """

    def __init__(self, config: Config) -> None:
        if not (config.learn_every > 0 or config.learn_after > 0):
            raise ValueError(
                f"learn_every is a number of seconds above 0, got {config.learn_every}; or set learn_after"
            )
        self.config = config
        self.last = ""
        self._stopped = threading.Event()
        self._process = LearningProcess(config)
        self._thread = threading.Thread(target=self._go_on, name="rankloop-learning", daemon=True)

    def start(self) -> None:
        """Begin; the first run is after the first `learn_every` seconds, or `learn_after` pages."""
        self._thread.start()

    def stop(self) -> None:
        """End, and kill the run under way."""
        self._stopped.set()
        self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _go_on(self) -> None:
        every, after = self.config.learn_every, self.config.learn_after
        began = time.monotonic()
        while not self._stopped.wait(every if not after else min(LOOK, every or LOOK)):
            passed = every > 0 and time.monotonic() - began >= every
            if not passed and not self._enough_clicked(after):
                continue
            began = time.monotonic()
            # Another run may end while this one starts: whether it is still due is looked at once more there.
            well, self.last = self._process.run(clicked=0 if passed else after)
            if not well and not self._stopped.is_set():
                _LOG.warning(self.last)
                self._stopped.wait(PAUSE if after else 0)  # its clicks still wait: not again at once

    def _enough_clicked(self, pages: int) -> bool:
        """Whether enough pages were clicked since the last run; not while the database is away."""
        if not pages:
            return False
        try:
            with Store.open(self.config.database) as store:
                registry = Registry(store, self.config.home / "models")
                return clicked_pages(store, last_look(store, registry)) >= pages
        except (StoreAway, OSError, LookupError):
            return False


class LearnNow:
    """A run that a user asked for; `message` says how the last one ended."""

    def __init__(self, config: Config) -> None:
        self.message = ""
        self._process = LearningProcess(config)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> bool:
        """Begin a run beside the service; False where one is under way."""
        with self._lock:
            if self.running or self._process.killed:
                return False
            self._thread = threading.Thread(target=self._run, name="rankloop-learn-now", daemon=True)
            self._thread.start()
        return True

    def stop(self) -> None:
        """Kill the run under way."""
        self._process.kill()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        well, message = self._process.run(again=True)
        self.message = "" if well or UNDER_WAY in message else message  # that one is shown while it runs
