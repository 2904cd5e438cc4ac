"""Text files, plain or compressed, as blocks of whole lines in bounded memory."""

import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any

from rankloop._progress import Advance, progress

__all__ = ["LONGEST_LINE", "TextSource", "long_work"]

LONGEST_LINE = 64 << 20
_LONG_WORK = 64 << 20  # bytes that take about a tenth of a second
_COMPRESSED_BLOCK = 16 << 10  # small, since a few bytes may stand for very many
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextSource:
    """A file opened for `fill`; gzip and zstd are recognised by their first bytes.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("one\\ntwo")
    >>> with TextSource(path) as source:
    ...     buffer, stop = source.fill(bytearray(64), beyond=8)
    >>> bytes(buffer[:stop])
    b'one\\ntwo\\n'
    """

    def __init__(self, path: str | Path, *, longest_line: int | None = None) -> None:
        self.path = Path(path)
        self.longest_line = LONGEST_LINE if longest_line is None else longest_line
        self._tail = b""
        self._ended = False
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder, not a text file; load_dataset() reads saved folders")
        self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self.size = self.path.stat().st_size
        magic = self._file.read(4)
        self._file.seek(0)
        self._read: Callable[[memoryview], int | None] = self._file.readinto
        if magic[:2] == b"\x1f\x8b":
            self._read = _Unpacked(self.path, self._file, lambda: zlib.decompressobj(31), zlib.error)
        elif magic == b"\x28\xb5\x2f\xfd":
            import zstandard

            new = zstandard.ZstdDecompressor().decompressobj
            self._read = _Unpacked(self.path, self._file, new, zstandard.ZstdError)
        elif magic[:3] == _BYTE_ORDER_MARK:
            self._file.seek(3)
        self.compressed = isinstance(self._read, _Unpacked)

    def __enter__(self) -> "TextSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def done(self) -> int:
        """The bytes of the file read so far."""
        return self._file.tell()

    def fill(self, buffer: bytearray, *, beyond: int) -> tuple[bytearray, int]:
        """The next whole lines at the start of `buffer` (or of a longer one), and where they end.

        `beyond` bytes behind the end may be read by the caller; the end is 0 when there is no more text.
        """
        filled = len(self._tail)
        if filled + beyond >= len(buffer):
            buffer = bytearray(2 * filled + beyond)
        buffer[:filled] = self._tail
        while True:
            while not self._ended and filled < len(buffer) - beyond:
                with memoryview(buffer) as view:
                    got = self._read(view[filled : len(buffer) - beyond]) or 0
                filled += got
                self._ended = got == 0
            stop = buffer.rfind(b"\n", 0, filled) + 1
            if self._ended and stop < filled:
                buffer[filled] = 10
                filled = stop = filled + 1
            if stop or self._ended:
                break
            if filled >= self.longest_line:
                raise ValueError(
                    f"{self.path}: a line is longer than {self.longest_line:,} bytes; "
                    "is this a text file with one document per line?"
                )
            buffer = buffer + bytes(len(buffer))
        self._tail = bytes(memoryview(buffer)[stop:filled])
        return buffer, stop


def long_work(title: str, total: int) -> AbstractContextManager[Advance]:
    """Progress over so many bytes, with a bar if they take a while."""
    return progress(title, total) if total > _LONG_WORK else nullcontext(_at_once)


def _at_once(by: float = 1, note: str = "") -> None:
    """No bar for short work."""


class _Unpacked:
    """Reads the unpacked bytes of a compressed file; a file that was cut short is an error."""

    def __init__(self, path: Path, file: Any, new: Callable[[], Any], error: type[Exception]) -> None:
        self.path, self.file, self.new, self.error = path, file, new, error
        self.engine = new()
        self.ready = memoryview(b"")

    def __call__(self, view: memoryview) -> int:
        while not len(self.ready):
            packed = self.engine.unused_data or self.file.read(_COMPRESSED_BLOCK)
            if self.engine.eof:
                if not packed.strip(b"\0"):
                    return 0
                self.engine = self.new()
            if not packed:
                raise ValueError(f"{self.path} ends in the middle of its compressed data; copy it again")
            try:
                self.ready = memoryview(self.engine.decompress(packed))
            except self.error as error:
                raise ValueError(
                    f"{self.path} holds broken compressed data ({error}); copy it again"
                ) from None
        size = min(len(view), len(self.ready))
        view[:size] = self.ready[:size]
        self.ready = self.ready[size:]
        return size
