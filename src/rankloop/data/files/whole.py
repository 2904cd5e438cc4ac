"""Whole text files as bytes, plain or compressed."""

import gzip
from pathlib import Path

from rankloop.data.files.bound import check_bound
from rankloop.data.files.text import TextSource

__all__ = ["as_text", "pack", "read_whole"]

_BLOCK = 4 << 20


def read_whole(path: str | Path, *, largest: int | None = None) -> bytes:
    """The lines of a file, unpacked; gzip and zstd are recognised by their first bytes, not by the name.

    A file that unpacks to more than `largest` bytes is refused, by default 1000 times its size.
    """
    parts: list[bytes] = []
    buffer, total = bytearray(_BLOCK), 0
    with TextSource(path) as source:
        while True:
            buffer, end = source.fill(buffer, beyond=1)
            if end == 0:
                return b"".join(parts)
            total += end
            check_bound(path, source.size, total, largest, "its text, unpacked,")
            parts.append(bytes(memoryview(buffer)[:end]))


def as_text(content: bytes, path: str | Path) -> str:
    """The text of a file; one that is not UTF-8 is refused, with the place of the first wrong byte."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise ValueError(
            f"{path}, line {line}: byte {byte:#04x} is not UTF-8 text; convert the file to UTF-8"
        ) from None


def pack(content: bytes, path: str | Path) -> bytes:
    """The content, compressed where the name ends in `.gz` or `.zst`."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.compress(content, compresslevel=6, mtime=0)
    if suffix == ".zst":
        import zstandard

        packed: bytes = zstandard.ZstdCompressor(write_checksum=True).compress(content)
        return packed
    return content
