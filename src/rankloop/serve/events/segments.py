"""Files that records are appended to, each with a checksum, so that a torn end is recognised."""

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankloop._atomic import sync_folder

__all__ = ["SUFFIX", "Segment", "claimed", "framed", "is_torn", "records"]

SUFFIX = ".spool"
_MARK = b"RLS1"
_HEAD = struct.Struct("<4sII")  # mark, length, CRC-32 of what follows


def framed(payload: bytes) -> bytes:
    """A record as it is written to the file.

    >>> records(framed(b"one") + framed(b"two")[:-1])
    [b'one']
    """
    return _HEAD.pack(_MARK, len(payload), zlib.crc32(payload)) + payload


def is_torn(whole: bytes) -> bool:
    """Whether a file has damaged or unfinished records."""
    return sum(_HEAD.size + len(payload) for payload in records(whole)) != len(whole)


def records(whole: bytes) -> list[bytes]:
    """The whole records of a file; damaged or unfinished ones are skipped."""
    found, at = [], 0
    while at + _HEAD.size <= len(whole):
        mark, length, checksum = _HEAD.unpack_from(whole, at)
        payload = whole[at + _HEAD.size : at + _HEAD.size + length]
        if mark == _MARK and len(payload) == length and zlib.crc32(payload) == checksum:
            found.append(payload)
            at += _HEAD.size + length
            continue
        at = whole.find(_MARK, at + 1)
        if at < 0:
            break
    return found


class Segment:
    """A file that this process appends to, locked until it is closed or the process ends."""

    def __init__(self, folder: Path) -> None:
        while True:
            self.path = folder / f"{time.time_ns():020d}-{os.getpid()}{SUFFIX}"
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if os.fstat(self._file).st_nlink:  # else another process claimed and deleted it before the lock
                break
            os.close(self._file)
        self.size = 0
        try:
            sync_folder(folder)
        except OSError:
            self.close()
            raise

    def append(self, data: bytes, *, durable: bool) -> None:
        """Write everything, and with `durable` flush it; after an error the file is as it was."""
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
            if durable:
                os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Close the file, which others can claim from now on; an empty one is deleted."""
        if self.size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self._file)


@contextmanager
def claimed(path: Path) -> Iterator[bytes | None]:
    """The content of a segment, locked; None where another process has it, or it is gone."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        yield None
        return
    try:
        with open(file, "rb", closefd=False) as whole:
            yield whole.read() if os.fstat(file).st_nlink else None
    finally:
        os.close(file)
