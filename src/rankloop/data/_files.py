"""Whole files as bytes, whatever they were packed with."""

import gzip
import zlib
from pathlib import Path

from rankloop._extras import require

__all__ = ["pack", "read_whole"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def read_whole(path: str | Path) -> bytes:
    """The content of a file; gzip and zstd are told by their first bytes, not by the name."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    raw = file.read_bytes()
    if raw.startswith(_GZIP):
        return _gunzip(raw, file)
    if raw.startswith(_ZSTD):
        return _unzstd(raw, file)
    return raw


def pack(content: bytes, path: str | Path) -> bytes:
    """The content as the name asks for it: packed for `.gz` and `.zst`."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.compress(content, compresslevel=6, mtime=0)
    if suffix == ".zst":
        packed: bytes = require("zstandard", "dev").ZstdCompressor().compress(content)
        return packed
    return content


def _gunzip(raw: bytes, file: Path) -> bytes:
    try:
        return gzip.decompress(raw)
    except EOFError:
        raise ValueError(f"{file}: the gzip file is cut short; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{file}: the gzip file is damaged ({error}); copy or download it again") from None


def _unzstd(raw: bytes, file: Path) -> bytes:
    zstd = require("zstandard", "dev")
    parts = []
    while raw:
        frame = zstd.ZstdDecompressor().decompressobj()
        try:
            parts.append(frame.decompress(raw))
        except zstd.ZstdError as error:
            raise ValueError(f"{file}: the zstd file is damaged ({error}); copy it again") from None
        if not frame.eof:
            raise ValueError(f"{file}: the zstd file is cut short; copy or download it again")
        raw = frame.unused_data
    return b"".join(parts)
