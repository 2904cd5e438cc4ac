"""A second process compiles kernels while the first one reads: a new machine answers sooner."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["compiling_beside"]


@contextmanager
def compiling_beside(module: str, kernel: Callable[..., Any]) -> Iterator[None]:
    """Read in this block; the kernels that `python -m module` calls are compiled meanwhile.

    Nothing happens where `kernel`, one of them, is compiled already, or where there is one core. If the
    second process fails, this one compiles for itself.
    """
    cache: Any = kernel._cache  # type: ignore[attr-defined] # what `rankloop._jit.kernel` put there
    if cache.on_disk or (os.cpu_count() or 1) < 2:
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
