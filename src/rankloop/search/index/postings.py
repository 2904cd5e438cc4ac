"""The forward index (terms of each document) and its inversion, the postings (documents of each term)."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Array, Ints, Ints32
from rankloop._jit import kernel

__all__ = ["Arrays", "Forward", "forward_index", "invert", "joined"]


Arrays = dict[str, Array]


class Forward(NamedTuple):
    """A forward index as kernels take it: rows are `field * documents + document`.

    Entries `offsets[row] : offsets[row + 1]` are the terms of a row in ascending order, with their `tf`. Its
    positions begin at `starts[row]`: those of the first term, then those of the second, each ascending.
    """

    offsets: Ints
    terms: Ints32
    tf: Ints32
    starts: Ints
    positions: Ints32


def forward_index(document: Ints, term: Ints, position: Ints32, documents: int, terms: int) -> Arrays:
    """The forward index of one field, from its tokens in the order of their documents."""
    key = document * max(terms, 1) + term
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    lengths = np.bincount(document, minlength=documents)
    return {
        "offsets": _cumulated(np.bincount(key[first] // max(terms, 1), minlength=documents)),
        "terms": (key[first] % max(terms, 1)).astype(np.int32),
        "tf": np.diff(first, append=len(key)).astype(np.int32),
        "starts": _cumulated(lengths),
        "positions": position[order],
        "lengths": lengths.astype(np.int32),
    }


def joined(fields: list[Arrays], documents: int) -> Arrays:
    """The forward indexes of several fields as one."""
    if not fields:
        fields = [forward_index(*(np.empty(0, np.int64),) * 2, np.empty(0, np.int32), 0, 0)]
    joint = {
        name: np.concatenate([field[name] for field in fields])
        for name in ("terms", "tf", "positions", "lengths")
    }
    for name in ("offsets", "starts"):
        ends = np.cumsum([0] + [field[name][-1] for field in fields])
        parts = [field[name][:-1] + end for field, end in zip(fields, ends[:-1], strict=True)]
        joint[name] = np.concatenate([*parts, ends[-1:]])
    joint["lengths"] = joint["lengths"].reshape(-1, documents)
    return joint


def invert(forward: Arrays, terms: int) -> Arrays:
    """Per field and term (row `field * terms + term`) the documents that have it, in order, and how often."""
    fields, documents = forward["lengths"].shape
    offsets = np.zeros(fields * terms + 1, np.int64)
    docs = np.empty(len(forward["terms"]), np.int32)
    tf = np.empty(len(forward["terms"]), np.int32)
    total = np.zeros(fields * terms, np.int64)
    rows = Forward(*(forward[name] for name in Forward._fields))
    _invert(rows, documents, terms, offsets, docs, tf, total)
    return {"offsets": offsets, "docs": docs, "tf": tf, "total": total}


@kernel
def _invert(
    forward: Forward, documents: int, terms: int, offsets: Ints, docs: Ints32, tf: Ints32, total: Ints
) -> None:
    """A counting sort of the entries by term: two passes, no comparison."""
    rows, row_terms, row_tf = forward.offsets, forward.terms, forward.tf
    for row in range(len(rows) - 1):
        field = row // documents
        for i in range(rows[row], rows[row + 1]):
            offsets[field * terms + row_terms[i] + 1] += 1
    for i in range(1, len(offsets)):
        offsets[i] += offsets[i - 1]
    free = offsets[:-1].copy()
    for row in range(len(rows) - 1):
        field = row // documents
        for i in range(rows[row], rows[row + 1]):
            at = field * terms + row_terms[i]
            docs[free[at]] = row - field * documents
            tf[free[at]] = row_tf[i]
            total[at] += row_tf[i]
            free[at] += 1


def _cumulated(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
