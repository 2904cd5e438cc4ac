"""A second process compiles kernels while the first one reads: a new machine answers sooner."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["compiling_beside"]


@contextmanager
def compiling_beside(
    module: str, kernel: Callable[..., Any], rest: Callable[[], None] | None = None
) -> Iterator[bool]:
    """Read in this block; the kernels that `python -m module` calls are compiled meanwhile. Whether they are.

    `rest` compiles others in this process after the block, as soon as `kernel` is ready, while the second
    process compiles what comes after it. Nothing happens where `kernel` is compiled already, or where there
    is one core. If the second process fails, this one compiles for itself.
    """
    cache: Any = kernel._cache  # type: ignore[attr-defined] # what `rankloop._jit.kernel` put there
    if cache.on_disk or (os.cpu_count() or 1) < 2:
        yield False
        return
    muted = subprocess.DEVNULL
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, stdin=muted, stdout=muted, stderr=muted) as beside:
        try:
            yield True
            if rest is not None:
                while beside.poll() is None and not cache.on_disk:
                    time.sleep(0.02)
                rest()
        except BaseException:
            beside.kill()
            raise
