"""Learning on a schedule, and when somebody asks for it."""

import logging
import threading

from rankloop.serve.config import Config
from rankloop.serve.learning.process import LearningProcess

__all__ = ["LearnNow", "Schedule"]

_LOG = logging.getLogger(__name__)


class Schedule:
    """Runs `learn_once` every `config.learn_every` seconds; the service notices what it promotes.

    Runs never overlap, and `stop` kills the one under way, which leaves nothing half-written. `last` is the
    message of the last run.
    """

    def __init__(self, config: Config) -> None:
        if not config.learn_every > 0:
            raise ValueError(f"learn_every is a number of seconds above 0, got {config.learn_every}")
        self.config = config
        self.last = ""
        self._stopped = threading.Event()
        self._process = LearningProcess(config)
        self._thread = threading.Thread(target=self._go_on, name="rankloop-learning", daemon=True)

    def start(self) -> None:
        """Begin; the first run is after the first `learn_every` seconds."""
        self._thread.start()

    def stop(self) -> None:
        """End, and kill the run under way."""
        self._stopped.set()
        self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _go_on(self) -> None:
        while not self._stopped.wait(self.config.learn_every):
            well, self.last = self._process.run()
            if not well and not self._stopped.is_set():
                _LOG.warning(self.last)


class LearnNow:
    """A run that somebody asked for; `message` says how the last one ended."""

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
        well, said = self._process.run(again=True)
        self.message = "" if well else said
