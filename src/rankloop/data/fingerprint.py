"""A digest that identifies the content of a data set."""

import hashlib
import json
import mmap
from typing import Any

import numpy as np

from rankloop._arrays import Array
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["fingerprint"]

_CHUNK = 8 << 20
_COLUMNS = ("X", "y", "offsets", "qid", "docid", "query_text", "query_weight", "item_weight", "position")


def fingerprint(dataset: RankingDataset) -> str:
    """A BLAKE2b digest (Aumasson et al., 2013) of every column, the same in memory and on disk.

    >>> a = RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"])
    >>> fingerprint(a) == fingerprint(a.replace(y=[0, 1])), fingerprint(a) == fingerprint(a.replace(y=[1, 1]))
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in _COLUMNS:
        values = getattr(dataset, name)
        if values is not None:
            _add(digest, name, values)
    if dataset.pairs is not None:
        for name in ("better", "worse", "probability", "weight"):
            _add(digest, f"pairs.{name}", getattr(dataset.pairs, name))
    if dataset.feature_names is not None:
        digest.update(json.dumps(dataset.feature_names).encode())
    return digest.hexdigest()


def _add(digest: "hashlib.blake2b", name: str, values: Array) -> None:
    text = values.dtype.kind == "U"
    kind = "text" if text else values.dtype.str
    digest.update(f"{name} {kind} {values.shape}\n".encode())
    step = max(1, _CHUNK // max(1, values[:1].nbytes))
    for start in range(0, len(values), step):
        part = np.asarray(values[start : start + step])
        if text:  # ids are the same in arrays of any width
            digest.update(np.char.str_len(part).astype(np.int64).data)
            digest.update("".join(part.tolist()).encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(part).data)
        _forget(values)


def _forget(values: Array) -> None:
    """Tell the system that pages of a memory map, once read, need not stay in memory."""
    base: Any = values.base
    if isinstance(base, mmap.mmap) and isinstance(values, np.memmap) and values.mode == "r":
        forget = getattr(mmap, "MADV_DONTNEED", None)
        if forget is not None:
            base.madvise(forget)
