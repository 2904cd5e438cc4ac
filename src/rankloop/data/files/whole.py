"""Whole text files as bytes, plain or compressed."""

import gzip
from pathlib import Path

from rankloop.data.files.bound import check_bound
from rankloop.data.files.text import TextSource

__all__ = ["pack", "read_whole"]

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
