"""On a new machine a second process compiles while the first one reads."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["compiling_beside"]


@contextmanager
def compiling_beside(module: str, kernel: Callable[..., Any]) -> Iterator[None]:
    """Read in this block; the kernels that `python -m module` calls are ready after it.

    Nothing happens where `kernel`, one of them, is (or once was) compiled, or where there is one core. Should
    the second process fail, this one compiles for itself.
    """
    cache = Path(kernel.stats.cache_path)  # type: ignore[attr-defined] # numba's
    home = kernel.__module__.rpartition(".")[2]
    known = any(cache.glob(f"{home}.{kernel.__name__}-*.nbi"))
    if known or (os.cpu_count() or 1) < 2:
        yield
        return
    muted = subprocess.DEVNULL
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, stdin=muted, stdout=muted, stderr=muted) as beside:
        try:
            yield
        except BaseException:
            beside.kill()
            raise
