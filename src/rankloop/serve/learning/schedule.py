"""Learning on a schedule, in a process of its own, so that searches do not wait for it."""

import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
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
_PROGRAM = (  # the pipe to it is closed when the service ends, however that ends
    "import json, os, sys, threading; getattr(os, 'nice', int)(10); "
    "given = json.loads(sys.stdin.readline()); "
    "end = lambda: (os.read(0, 1), os._exit(1)); threading.Thread(target=end, daemon=True).start(); "
    "from rankloop.serve.config import Config; from rankloop.serve.learning.run import learn_once; "
    "print(repr(learn_once(Config.from_dict(given))), flush=True); os._exit(0)"
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
        output = _output(self._process, json.dumps(_settings(self.config)))
        done, self._process = self._process.wait(), None
        if done == 0:
            return output.strip()
        failed = f"learning failed: {output.strip().rpartition(chr(10))[2]}"
        if not self._stopped.is_set():
            _LOG.warning(failed)
        return failed


def _output(process: "subprocess.Popen[str]", line: str) -> str:
    """Send a line, and read what is printed; the pipe stays open until the end, which ends the process."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, suppress(BrokenPipeError):
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        return process.stdout.read()
    return ""


def _settings(config: Config) -> dict[str, Any]:
    """The settings that learning reads; sent through a pipe, as the database URL may hold a password."""
    settings = {name: getattr(config, name) for name in _READ}
    paths = {
        "index": str(config.index if is_address(config.index) else Path(config.index).absolute()),
        "folder": str(config.home.absolute()),
    }
    parts = {name: asdict(getattr(config, name)) for name in ("gate", "influence")}
    return {**settings, **paths, "features": list(config.features), **parts}
