"""Files with one place changed: a bit, a byte, an end that is missing or too long."""

import io
import os
import random
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from rankloop import _archive

__all__ = ["FULL", "KINDS", "TRIED", "changed", "damages", "repacked", "rewrite"]

FULL = int(os.environ.get("RANKLOOP_HARDENING", "1"))  # `make hardening` tries so many times as much
TRIED: Counter[str] = Counter()  # what was tried in this run, printed at its end

KINDS = ("bit", "byte", "zeros", "cut", "longer", "swapped")


def changed(whole: bytes, kind: str, rng: random.Random) -> bytes:
    """The content with one change of a kind, at a random place; never equal to the content."""
    at = rng.randrange(len(whole))
    data = bytearray(whole)
    if kind == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        data[at] ^= rng.randrange(1, 256)
    elif kind == "zeros":
        size = min(rng.choice([16, 512, 4096]), len(data) - at)
        data[at : at + size] = bytes(size)
    elif kind == "cut":
        del data[at:]
    elif kind == "longer":
        data += rng.randbytes(rng.choice([1, 7, 4096]))
    elif kind == "swapped":
        other, size = rng.randrange(len(data)), min(64, len(data))
        a, b = sorted((min(at, len(data) - size), min(other, len(data) - size)))
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
        del data[len(whole) :]
    return bytes(data) if bytes(data) != whole else changed(whole, "bit", rng)


def damages(whole: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many changed copies, each kind in turn."""
    rng = random.Random(seed)
    for number in range(FULL * count):
        kind = KINDS[number % len(KINDS)]
        TRIED["damaged files"] += 1
        yield kind, changed(whole, kind, rng)


def rewrite(path: Path, content: bytes) -> None:
    """Put other content into a file that is there.

    In place: a file that is emptied first is written to the disk at once by ext4 when it is closed, which
    takes a hundred times as long as reading it.
    """
    with path.open("r+b", buffering=0) as file:
        file.write(content)
        file.truncate()


def repacked(whole: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The archive with other members, and a right checksum again: made up, not damaged."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = _archive._SIGNATURE + bytes(8)
    whole = buffer.getvalue()[:-8]
    return whole + b"%08x" % zlib.crc32(whole)
