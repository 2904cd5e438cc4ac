"""Learning on a schedule, in a process of its own, so that searches do not wait for it."""

import json
import logging
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankloop.engines.remote.address import is_address
from rankloop.serve.config import Config

__all__ = ["Schedule"]

_LOG = logging.getLogger(__name__)
_READ = (
    "index",
    "folder",
    "database",
    "candidates",
    "k",
    "typos",
    "weights",
    "features",
    "swap_top",
    "window_days",
)
_PROGRAM = (
    "import json, os, sys; getattr(os, 'nice', int)(10); "
    "from rankloop.serve.config import Config; from rankloop.serve.learning.run import learn_once; "
    "print(repr(learn_once(Config.from_dict(json.load(sys.stdin)))))"
)


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
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._go_on, name="rankloop-learning", daemon=True)

    def start(self) -> None:
        """Begin; the first run is after the first `learn_every` seconds."""
        self._thread.start()

    def stop(self) -> None:
        """End, and kill the run under way."""
        self._stopped.set()
        process = self._process
        if process is not None:
            process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _go_on(self) -> None:
        while not self._stopped.wait(self.config.learn_every):
            self.last = self._run()

    def _run(self) -> str:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"},
        )
        if self._stopped.is_set():
            self._process.kill()
        output, _ = self._process.communicate(json.dumps(_settings(self.config)))
        done, self._process = self._process.returncode, None
        if done == 0:
            return output.strip()
        failed = f"learning failed: {output.strip().rpartition(chr(10))[2]}"
        if not self._stopped.is_set():
            _LOG.warning(failed)
        return failed


def _settings(config: Config) -> dict[str, Any]:
    """The settings that learning reads; sent through a pipe, as the database URL may hold a password."""
    settings = {name: getattr(config, name) for name in _READ}
    paths = {
        "index": str(config.index if is_address(config.index) else Path(config.index).absolute()),
        "folder": str(config.home.absolute()),
    }
    return {**settings, **paths, "features": list(config.features), "gate": asdict(config.gate)}
