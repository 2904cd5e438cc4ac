"""Named arrays in one file, written once and memory-mapped for reading."""

import hashlib
import json
import mmap
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Array, Bytes, Ints
from rankloop._atomic import replacing

__all__ = ["AGAIN", "pack", "read_arrays", "unpack", "write_arrays"]

_MAGIC = b"rankloop arrays 2\n"
AGAIN = "make the index anew with `rankloop index` or Index.create"
_ALIGN = 64


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> str:
    """Write the arrays, whole or not at all; gives a hash of their contents."""
    header: dict[str, dict[str, Any]] = {}
    at = 0
    for name, array in arrays.items():
        header[name] = {"dtype": array.dtype.str, "shape": array.shape, "at": at}
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    text = json.dumps(header).encode()
    digest = hashlib.blake2b(text, digest_size=16)
    start = -(-(len(_MAGIC) + 8 + len(text)) // _ALIGN) * _ALIGN
    with replacing(path) as beside, open(beside, "wb") as file:
        file.write(_MAGIC + len(text).to_bytes(8, "little") + text)
        for name, array in arrays.items():
            file.seek(start + header[name]["at"])
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            digest.update(data)
            file.write(data)
        file.truncate(start + at)
    return digest.hexdigest()


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file, read-only and memory-mapped: nothing is read before it is used."""
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} is not a segment of this version of rankloop; {AGAIN}")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        size = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 8], "little")
        header = json.loads(data[len(_MAGIC) + 8 : len(_MAGIC) + 8 + size])
        start = -(-(len(_MAGIC) + 8 + size) // _ALIGN) * _ALIGN
        return {name: _view(data, start, **place) for name, place in header.items()}
    except (ValueError, TypeError, AttributeError) as error:  # the header is no JSON, or arrays end too early
        raise ValueError(f"{path} is damaged or cut short ({error}); {AGAIN}") from error


def _view(data: mmap.mmap, start: int, dtype: str, shape: list[int], at: int) -> Array:
    count = int(np.prod(shape))
    if count == 0:
        array = np.zeros(shape, dtype)
        array.flags.writeable = False
        return array
    return np.frombuffer(data, dtype, count, start + at).reshape(shape)


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
