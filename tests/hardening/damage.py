"""Files with one place changed: a bit, a byte, an end that is missing or too long."""

import os
import random
from collections import Counter
from collections.abc import Iterator

__all__ = ["FULL", "KINDS", "TRIED", "changed", "damages"]

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
