"""Files that are complete or absent: write beside, then rename."""

import ctypes
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["replacing", "replacing_folder", "sync_folder"]

_DEVICES = ("/dev", "/dev/fd", "/proc/self/fd")  # a link there may lead to a file, and stays a link
_ABANDONED = 86_400.0  # seconds after which a file that was not renamed has no writer
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path to write to; it is renamed to `path` if the block succeeds and removed if it fails.

    A device or a pipe, such as /dev/stdout, stays what it is: the file is copied to it.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as beside:
    ...     _ = beside.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target = _named(path)
    if str(target.parent) in _DEVICES or (target.exists() and not (target.is_file() or target.is_dir())):
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder) / target.name
            yield beside
            with open(beside, "rb") as written, open(target, "ab") as device:
                shutil.copyfileobj(written, device)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        os.chmod(beside, 0o666 & ~_umask())
        with open(beside, "rb") as written:
            os.fsync(written.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """The same for a folder: it takes the place of an older one in one step, where the system has one.

    On Linux the two are exchanged at once, so that there is a whole folder at every moment, also when the
    process is killed. Elsewhere the older one is moved away first.
    """
    target = _named(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield beside
        os.chmod(beside, 0o777 & ~_umask())
        _sync_all(beside)
        if not target.exists():
            os.replace(beside, target)
        elif not _exchange(beside, target):
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
            os.replace(target, old / target.name)
            os.replace(beside, target)
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(beside, ignore_errors=True)  # after an exchange, that is the older one


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new file name in it survives a loss of power."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _named(path: str | Path) -> Path:
    if str(path) == "-":
        raise ValueError("'-' is standard input here, not a file to write; to print, write to /dev/stdout")
    return Path(path)


def _sweep(target: Path) -> None:
    """Remove what killed writers of this path left beside it a day ago or earlier."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    done = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return bool(done == 0)


def _sync_all(folder: Path) -> None:
    """Flush the files of a folder, so that its new name never stands for files that are not on disk."""
    for place, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(place, name), "rb") as written:
                os.fsync(written.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
