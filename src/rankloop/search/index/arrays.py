"""Named arrays in one file, written once and memory-mapped for reading; damage is seen at first use."""

import hashlib
import json
import mmap
import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from rankloop._arrays import Array, Bytes, Ints
from rankloop._atomic import replacing
from rankloop._json import parse_json

__all__ = ["AGAIN", "MappedArrays", "MemoryArrays", "pack", "read_arrays", "unpack", "write_arrays"]

_MAGIC = b"rankloop arrays 3\n"
AGAIN = "make the index again with `rankloop index` or Index.create"
_ALIGN = 64
_MANY = 50  # parts from which numpy looks for those that were not compared yet
_BLOCK = 1 << 18  # bytes that share a checksum
SMALL = 64 << 20  # bytes of a file that is compared with its checksums at once: some hundredths of a second


class _Place(NamedTuple):
    """Where an array lies: its first byte after the header."""

    dtype: str
    shape: tuple[int, ...]
    at: int

    @property
    def bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> str:
    """Write the arrays, whole or not at all; gives a hash of their header and checksums.

    The file: a magic text, the size of the header, the header (JSON: places of the arrays, bytes of data),
    one CRC-32 for each block of the data, the data.
    """
    places: dict[str, _Place] = {}
    at = 0
    for name, array in arrays.items():
        places[name] = _Place(array.dtype.str, array.shape, at)
        at += _aligned(array.nbytes)
    text = json.dumps({"bytes": at, "arrays": places}).encode()
    head = _MAGIC + len(text).to_bytes(8, "little") + text
    head += bytes(_aligned(len(head)) - len(head))
    sums = _Sums()
    with replacing(path) as beside, open(beside, "wb") as file:
        file.seek(_start(len(head), at))
        for array in arrays.values():
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            padding = bytes(_aligned(array.nbytes) - array.nbytes)
            for part in (data, padding):
                file.write(part)
                sums.add(part)
        table = np.array(sums.all(), "<u4").tobytes()
        table += bytes(_start(len(head), at) - len(head) - len(table))
        file.seek(0)
        file.write(head + table)
    return hashlib.blake2b(head + table, digest_size=16).hexdigest()


def read_arrays(path: Path, digest: str) -> "MappedArrays":
    """The arrays of a file, read-only and memory-mapped; nothing of a big one is read before it is used.

    `digest` is what `write_arrays` gave. A file of another size or with another header is refused at once.
    A file that is open already is not compared again.
    """
    status = path.stat()
    key = (path, status.st_ino, status.st_mtime_ns, status.st_size, digest)
    found = _OPEN.get(key)
    if found is None:
        found = _OPEN[key] = MappedArrays(path, digest)
    return found


class MappedArrays(dict[str, Array]):
    """The arrays by name; each is compared with the checksums of its blocks when it is first looked up.

    An array that is too big for that is taken from `raw` after `touch` has compared the parts in use.
    """

    def __init__(self, path: Path, digest: str) -> None:
        super().__init__()
        self.path = path
        with open(path, "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError(f"{path} is not a segment of this version of rankloop; {AGAIN}")
            size = int.from_bytes(file.read(8), "little")
            try:
                file.seek(0)
                head = file.read(_aligned(len(_MAGIC) + 8 + size) if size < path.stat().st_size else 0)
                content = parse_json(head[len(_MAGIC) + 8 : len(_MAGIC) + 8 + size])
                data_bytes = int(content["bytes"])
                start = _start(len(head), data_bytes)
                table = file.read(start - len(head))
                places = {name: _Place(*place) for name, place in content["arrays"].items()}
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise self._damaged(f"its header cannot be read: {error}") from None
            if hashlib.blake2b(head + table, digest_size=16).hexdigest() != digest:
                raise self._damaged("its header is not the one that was written")
            if path.stat().st_size != start + data_bytes:
                raise self._damaged(f"it has {path.stat().st_size} bytes, not {start + data_bytes}")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        blocks = -(-data_bytes // _BLOCK)
        self._start, self._size = start, data_bytes
        self._sums = np.frombuffer(table, "<u4", blocks).tolist()
        self._sound = bytearray(blocks)  # 1 for each block that was compared
        self._places = places
        self.raw = {name: self._view(place) for name, place in places.items()}
        if start + data_bytes <= SMALL:
            self.check()

    def __missing__(self, name: str) -> Array:
        array, place = self.raw[name], self._places[name]
        self._compare(place.at, place.at + place.bytes)
        self[name] = array
        return array

    def touch(self, name: str, starts: Ints, ends: Ints) -> Array:
        """The array, after comparing the blocks of `[start : end]` for all of them; of a small one, all."""
        if name in self or self._places[name].bytes <= SMALL:
            return self[name]
        at, array = self._places[name].at, self.raw[name]
        size = array.itemsize * (array.shape[1] if array.ndim > 1 else 1)
        if len(starts) > _MANY:
            filled = ends > starts
            starts, ends = starts[filled], ends[filled]
            first, last = (at + starts * size) // _BLOCK, (at + ends * size - 1) // _BLOCK
            sound = np.frombuffer(self._sound, np.uint8)
            unknown = (last - first > 1) | (sound[first] == 0) | (sound[last] == 0)
            starts, ends = starts[unknown], ends[unknown]
        compared = False
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True):
            if a < b and self._unknown(at + a * size, at + b * size):
                self._compare(at + a * size, at + b * size)
                compared = True
        if compared and not self._unknown(at, at + self._places[name].bytes):
            self[name] = array  # all of it was compared: nothing is left to look for
        return array

    def check(self) -> None:
        """Compare everything."""
        for name in self.raw:
            self[name]
        self._compare(0, self._size)

    def _unknown(self, start: int, end: int) -> bool:
        """Whether a block that holds some of these bytes of the data was not compared yet."""
        return self._sound.find(0, start // _BLOCK, (end - 1) // _BLOCK + 1) >= 0

    def _compare(self, start: int, end: int) -> None:
        """Compare the blocks that hold these bytes of the data, unless they were compared before."""
        with memoryview(self._data) as data:
            for block in range(start // _BLOCK, -(-end // _BLOCK)):
                if not self._sound[block]:
                    first = self._start + block * _BLOCK
                    with data[first : min(first + _BLOCK, self._start + self._size)] as part:
                        if zlib.crc32(part) != self._sums[block]:
                            raise self._damaged(f"the bytes from {first} on are not those that were written")
                    self._sound[block] = 1

    def _view(self, place: _Place) -> Array:
        count = prod(place.shape)
        if count == 0:
            array = np.zeros(place.shape, place.dtype)
            array.flags.writeable = False
            return array
        return np.frombuffer(self._data, place.dtype, count, self._start + place.at).reshape(place.shape)

    def _damaged(self, why: str) -> ValueError:
        return ValueError(f"{self.path} is damaged or cut short: {why}; {AGAIN}")


class MemoryArrays(dict[str, Array]):
    """Arrays that are in memory only, with nothing to compare: used like `MappedArrays`."""

    @property
    def raw(self) -> dict[str, Array]:
        return self

    def touch(self, name: str, starts: Ints, ends: Ints) -> Array:
        return self[name]

    def check(self) -> None:
        """There is no file that could be damaged."""


_OPEN: WeakValueDictionary[tuple[Any, ...], MappedArrays] = WeakValueDictionary()


class _Sums:
    """CRC-32 of each block of bytes that come in pieces."""

    def __init__(self) -> None:
        self._done: list[int] = []
        self._filled = self._sum = 0

    def add(self, data: Any) -> None:
        view = memoryview(data)
        while len(view):
            part = view[: _BLOCK - self._filled]
            self._sum = zlib.crc32(part, self._sum)
            self._filled += len(part)
            view = view[len(part) :]
            if self._filled == _BLOCK:
                self._done.append(self._sum)
                self._filled = self._sum = 0

    def all(self) -> list[int]:
        return [*self._done, self._sum] if self._filled else self._done


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _start(head: int, data: int) -> int:
    """Where the data begins: after the header and its checksums."""
    return head + _aligned(4 * -(-data // _BLOCK))


def pack(texts: Iterable[bytes]) -> tuple[Bytes, Ints]:
    """Byte strings end to end, and the offset of each."""
    parts = list(texts)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def unpack(data: Bytes, offsets: Ints) -> list[bytes]:
    """The byte strings that were packed."""
    whole, cuts = data.tobytes(), offsets.tolist()
    return [whole[a:b] for a, b in pairwise(cuts)]
