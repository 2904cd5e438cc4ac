"""Records of User Behavior Insights on disk: added, forgotten, and deleted when they are old."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.search.index.lock import WriterLock

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["APART", "PEOPLE", "UbiFiles", "arrivals", "records"]

APART = "apart"  # the folder of records of unknown origin
PEOPLE = ("client_id", "session_id", "user_id")
KINDS = ("queries", "events")
_WAIT = 10.0  # seconds for another process that writes
_DAY = 86_400.0

Record = Mapping[str, Any]


class UbiFiles:
    """`queries.jsonl` and `events.jsonl` in a folder, and in `apart` below it those of unknown origin.

    Every record has the time at which it was `received`, and `received_from`: a keyed hash of the address
    range, None if it came with the token. One process writes at a time; a file that loses records is replaced
    as a whole.
    """

    def __init__(self, folder: Path, megabytes: float) -> None:
        self.folder, self.megabytes = folder, megabytes
        self._known: int | None = None

    def add(self, kind: str, records: Sequence[Record], *, apart: bool, origin: str | None = None) -> None:
        """Add records, on disk when this returns; an `OSError` if the file would be too large."""
        if not records:
            return
        now = time.time()
        stamp = {"timestamp": datetime.fromtimestamp(now, UTC).isoformat()}
        seal = {"received": now, "received_from": origin}
        lines = "".join(json.dumps(stamp | dict(one) | seal, ensure_ascii=False) + "\n" for one in records)
        data = lines.encode("utf-8", "replace")
        path = (self.folder / APART if apart else self.folder) / f"{kind}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._alone():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                size = os.fstat(handle).st_size
                if size + len(data) > self.megabytes * 2**20:
                    raise OSError(28, f"{path.name} of ubi is full: move it away, or raise spool_megabytes")
                _append(handle, data, size)
            finally:
                os.close(handle)

    def catch_up(self, store: "Store", epoch: int) -> None:
        """Forget whom the store forgot up to `epoch` since the last look, which is remembered in a file."""
        if epoch == self._known or not self.folder.is_dir():
            return
        path = self.folder / "forgotten"
        known = 0
        with suppress(FileNotFoundError, ValueError):
            known = int(path.read_text("ascii"))
        if known > epoch:  # of a database before it was restored
            known = 0
        if epoch > known:
            self.forget(store.forgotten(after=known))
            _write(path, f"{epoch}\n".encode("ascii"))
        self._known = epoch

    def forget(self, people: set[str]) -> int:
        """Delete what names these people, by key, and all of the same queries; gives how many records."""
        if not people:
            return 0
        gone = 0
        with self._alone():
            for folder in (self.folder, self.folder / APART):
                named = {
                    str(record["query_id"])
                    for kind in KINDS
                    for record in records(folder / f"{kind}.jsonl")
                    if record.get("query_id") and _names(record, people)
                }

                def stays(record: Record, queries: set[str] = named) -> bool:
                    return not _names(record, people) and str(record.get("query_id")) not in queries

                gone += sum(_keep(folder / f"{kind}.jsonl", stays) for kind in KINDS)
        return gone

    def retain(self, days: float, *, now: float | None = None) -> int:
        """Delete what was received more than `days` ago; gives how many records."""
        oldest = (time.time() if now is None else now) - _DAY * days
        if not self.folder.is_dir():
            return 0
        with self._alone():
            return sum(
                _keep(folder / f"{kind}.jsonl", lambda record: _received(record) >= oldest)
                for folder in (self.folder, self.folder / APART)
                for kind in KINDS
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, of all threads and processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock, end = WriterLock(self.folder / "lock"), time.monotonic() + _WAIT
        while True:
            try:
                lock.acquire()
                break
            except ValueError:
                if time.monotonic() > end:
                    raise OSError(11, "the files of ubi are being written; send it again") from None
                time.sleep(0.005)
        try:
            yield
        finally:
            lock.release()


def _append(handle: int, data: bytes, size: int) -> None:
    """Write everything to the end of a file of this size; after an error the file is as it was."""
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def arrivals(path: Path) -> dict[str, tuple[float, str | None]]:
    """When and from which address range each query of a file came; of one that was sent twice, the last."""
    return {
        str(one["query_id"]): (_received(one), str(one.get("received_from") or "") or None)
        for one in records(path)
        if one.get("query_id")
    }


def records(path: Path) -> Iterator[Record]:
    """The records of a file; a line that is cut off is none."""
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            record = _record(line)
            if record is not None:
                yield record


def _record(line: str) -> Record | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _names(record: Record, people: set[str]) -> bool:
    return any(str(record.get(name)) in people for name in PEOPLE)


def _received(record: Record) -> float:
    """When a record came; of one of an earlier rankloop its own time, and long ago where it has none."""
    try:
        if "received" in record:
            return float(record["received"])
        return datetime.fromisoformat(str(record.get("timestamp"))).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return 0.0


def _keep(path: Path, stays: Callable[[Record], bool]) -> int:
    """Write a file again without some of its records; gives how many are gone."""
    kept: list[str] = []
    lines = 0
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            lines += 1
            record = _record(line)
            if record is not None and stays(record):
                kept.append(line if line.endswith("\n") else f"{line}\n")
    if lines > len(kept):
        _write(path, "".join(kept).encode("utf-8", "replace"))
    return lines - len(kept)


def _write(path: Path, data: bytes) -> None:
    """The whole of a file of mode 600, or none of it."""
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)
