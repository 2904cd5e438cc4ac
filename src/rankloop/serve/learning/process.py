"""One learning run in a process of its own, so that searches do not wait for it."""

import json
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
from rankloop.serve.learning.record import UNDER_WAY

__all__ = ["LearningProcess"]

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
    "learn_budget",
    "remember",
)
_PROGRAM = (  # the pipe to it is closed when the service ends, however that ends
    "import json, os, sys, threading; getattr(os, 'nice', int)(10); "
    "given = json.loads(sys.stdin.readline()); asked = given.pop('asked'); "
    "end = lambda: (os.read(0, 1), os._exit(1)); threading.Thread(target=end, daemon=True).start(); "
    "from rankloop.serve.config import Config; from rankloop.serve.learning.run import learn_once; "
    "print(repr(learn_once(Config.from_dict(given), **asked)), flush=True); os._exit(0)"
)


class LearningProcess:
    """Runs `learn_once`; `kill` ends the run under way, which leaves nothing half-written."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._stopped = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def run(self, *, again: bool = False, clicked: int = 0) -> tuple[bool, str]:
        """Whether the run ended well, and its message."""
        asked = {"again": again, "clicked": clicked}
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
        output = _output(self._process, json.dumps(_settings(self.config) | {"asked": asked}))
        done, self._process = self._process.wait(), None
        if done == 0:
            return True, output.strip()
        last = output.strip().rpartition("\n")[2]
        message = last.removeprefix("ValueError: ")  # such an error is a sentence
        return False, message if message.startswith(UNDER_WAY) else f"learning failed: {message}"

    def kill(self) -> None:
        """End the run under way, and every later one at once."""
        self._stopped.set()
        process = self._process
        if process is not None:
            process.kill()

    @property
    def killed(self) -> bool:
        return self._stopped.is_set()


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
