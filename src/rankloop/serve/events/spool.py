"""A bounded queue on disk between the service and its database: acknowledged records are stored, once."""

import errno
import logging
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from rankloop.serve.events.records import Record, decode, encode
from rankloop.serve.events.segments import SUFFIX, Segment, claimed, framed, records
from rankloop.serve.events.shown_page import Event, FollowingPage, ShownPage
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.events.time_limit import time_limit

__all__ = ["Spool", "SpoolFull"]

_LOG = logging.getLogger(__name__)
_AT_ONCE = 2000  # records of one batch into the store
_EVERY = 0.5  # seconds between two tries to store what waits
_SLOWEST = 5.0  # seconds between them while the database does not answer
_LONGEST = 60.0  # seconds of a batch, after which the database is away
_UNREADABLE = (ValueError, KeyError, TypeError, struct.error, OverflowError)


class SpoolFull(OSError):  # noqa: N818 - it reads aloud
    """No more records fit: the database has not answered for too long, or the disk is full."""


class Spool:
    """Records wait in files of `folder` until the store has them.

    `put` returns when they are on disk, so that killing the process loses nothing; concurrent calls share one
    flush. A thread (`start`) moves them to the store, which stores each once, and deletes files whose records
    are all stored. Several processes may share a folder: files of a dead one are stored by the others. When
    `limit_bytes` wait, or the disk is full, `put` raises `SpoolFull` and writes nothing.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Store.open(f"sqlite:///{folder}/events.db") as store, Spool(folder / "spool") as spool:
    ...     spool.put([Event("e1", "0" * 32, "click", "a")])
    ...     spool.drain(store), spool.drain(store), spool.waiting
    (1, 0, 0)
    """

    def __init__(
        self, folder: str | Path, limit_bytes: int = 256 << 20, *, segment_bytes: int = 8 << 20
    ) -> None:
        self.folder, self.limit_bytes, self.segment_bytes = Path(folder), limit_bytes, segment_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trouble: str | None = None  # why the last try to store something failed
        self.delivered = self.rejected = 0
        self.waiting = self._on_disk()  # bytes
        self._active: Segment | None = None
        self._queue: list[_Put] = []
        self._lock, self._writing, self._draining = threading.Lock(), threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.stop()

    def put(self, given: Sequence[Record], *, durable: bool = True) -> None:
        """Write records: all of them, or none and `SpoolFull`.

        Without `durable` they survive the end of this process, but not a loss of power.
        """
        if not given:
            return
        mine = _Put(b"".join(framed(encode(one)) for one in given), durable)
        with self._lock:
            if self.waiting + len(mine.data) > self.limit_bytes:
                raise SpoolFull(
                    errno.ENOSPC,
                    f"{self.waiting:,} bytes wait for the database, the limit is {self.limit_bytes:,}; "
                    "try again when the database answers",
                )
            self.waiting += len(mine.data)
            self._queue.append(mine)
        with self._writing:
            if not mine.done:
                self._write_queue()
        if mine.trouble is not None:
            raise mine.trouble

    def start(self, store: Store) -> None:
        """Move records to the store in the background, from now until `stop`."""
        if self._thread is not None:
            raise ValueError("this spool was started already")
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, args=(store,), name="rankloop-spool", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the background work after one last try; what is left waits on disk for the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._rotate()

    def drain(self, store: Store) -> int:
        """Store everything that waits; gives the number of records. After `StoreAway` they still wait."""
        with self._draining:
            stored = self._drain_files(store)
            if self._rotate():
                stored += self._drain_files(store)
            with self._writing, self._lock:  # no write is under way
                self.waiting = self._on_disk() + sum(len(one.data) for one in self._queue)
            return stored

    def _run(self, store: Store) -> None:
        pause = _EVERY
        while True:
            last = self._stopping.wait(pause)
            try:
                self.drain(store)
            except (StoreAway, SQLAlchemyError, OSError) as error:
                message = str(error).splitlines()[0]
                if message != self.trouble:
                    _LOG.warning("records wait in the spool: %s", message)
                self.trouble = message
                pause = min(2 * pause, _SLOWEST)
            else:
                self.trouble, pause = None, _EVERY
            if last:
                return

    def _write_queue(self) -> None:
        """Write the records of all waiting callers with one flush; the caller holds `_writing`."""
        with self._lock:
            batch, self._queue = self._queue, []
        data = b"".join(one.data for one in batch)
        try:
            self._active = self._active or Segment(self.folder)
            self._active.append(data, durable=any(one.durable for one in batch))
        except OSError as error:
            self._close_active()  # its end may be torn: nothing more is appended
            with self._lock:
                self.waiting -= len(data)
            for one in batch:
                one.trouble = SpoolFull(
                    error.errno, f"nothing was recorded: {error.strerror} in {self.folder}"
                )
        else:
            if self._active.size >= self.segment_bytes:
                self._close_active()
        for one in batch:
            one.done = True

    def _rotate(self) -> bool:
        """End the file being written, so that it can be drained; whether there was one."""
        with self._writing:
            return self._close_active()

    def _close_active(self) -> bool:
        active, self._active = self._active, None
        if active is not None:
            active.close()
        return active is not None

    def _drain_files(self, store: Store) -> int:
        stored = 0
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            with claimed(path) as whole:
                if whole is None:
                    continue
                found = records(whole)
                torn = len(whole) - sum(len(framed(one)) for one in found)
                if torn:  # never acknowledged, unless the disk lost it later
                    _LOG.warning("%s has %d bytes of unfinished or damaged records", path.name, torn)
                for first in range(0, len(found), _AT_ONCE):
                    self._deliver(store, found[first : first + _AT_ONCE])
                path.unlink(missing_ok=True)
                stored += len(found)
        return stored

    def _deliver(self, store: Store, batch: list[bytes]) -> None:
        """Store a batch; a record that the database refuses is put aside, and the others are stored."""
        try:
            known = [decode(one) for one in batch]
            with time_limit(_LONGEST):
                store.put_pages([one for one in known if isinstance(one, ShownPage)])
                store.put_following([one for one in known if isinstance(one, FollowingPage)])
                store.put_events([one for one in known if isinstance(one, Event)])
            self.delivered += len(batch)
        except (DataError, IntegrityError, *_UNREADABLE) as error:
            if len(batch) > 1:
                for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                    self._deliver(store, half)
                return
            _LOG.warning("a record was put aside in %s: %s", self.folder, str(error).splitlines()[0])
            self.rejected += 1
            with (self.folder / "rejected").open("ab") as aside:
                aside.write(framed(batch[0]))

    def _on_disk(self) -> int:
        total = 0
        for path in self.folder.glob(f"*{SUFFIX}"):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total


class _Put:
    """The records of one caller, and the outcome."""

    __slots__ = ("data", "done", "durable", "trouble")

    def __init__(self, data: bytes, durable: bool) -> None:
        self.data, self.durable = data, durable
        self.done = False
        self.trouble: SpoolFull | None = None
