"""One writer at a time: a lock that the operating system releases when its process dies."""

import os
import sys
from pathlib import Path
from typing import BinaryIO

__all__ = ["IndexLocked", "WriterLock"]


class IndexLocked(ValueError):  # noqa: N818 - it reads aloud
    """Another writer holds the lock of an index; nothing was changed."""


class WriterLock:
    """Held from the first change to the commit; a killed writer leaves no stale lock behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def acquire(self) -> None:
        """Take the lock; an error names the process that holds it."""
        if self._file is not None:
            return
        file = open(self.path, "a+b")  # noqa: SIM115 - the lock is held while the file is open
        try:
            _lock(file)
        except OSError:
            file.seek(0)
            owner = file.read(20).decode("ascii", "replace").strip() or "another process"
            file.close()
            raise IndexLocked(
                f"{self.path.parent} is being written by process {owner}; wait for its commit, or close it"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        self.release()  # a writer that was never closed must not lock others out


def _lock(file: BinaryIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(1 << 30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
