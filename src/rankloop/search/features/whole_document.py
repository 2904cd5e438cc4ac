"""The fields of a document end to end: positions of query terms in the whole document."""

import numpy as np

from rankloop._arrays import Ints
from rankloop._jit import kernel
from rankloop.search.index.postings import Forward

__all__ = ["end_to_end"]


@kernel
def end_to_end(
    forward: Forward, documents: int, fields: Ints, rows: Ints, wanted: Ints, by_term: Ints, apart: int
) -> Forward:
    """A forward index of some documents with the wanted terms only, all fields of a document as one.

    A field begins `apart` words after the end of the one before, so that their words are never neighbours.
    """
    offsets, terms, tf, starts, positions = forward
    room = 0
    for document in rows:
        for field in fields:
            room += starts[field * documents + document + 1] - starts[field * documents + document]
    new_offsets, new_starts = np.zeros(len(rows) + 1, np.int64), np.zeros(len(rows) + 1, np.int64)
    new_terms = np.empty(len(rows) * len(wanted), np.int32)
    new_tf = np.empty(len(rows) * len(wanted), np.int32)
    places = np.empty(room, np.int32)
    spot = np.empty((len(fields), len(wanted)), np.int64)
    count = np.empty((len(fields), len(wanted)), np.int64)
    shift = np.empty(len(fields), np.int64)
    entries, filled = 0, 0
    for r in range(len(rows)):
        # Where the positions of each wanted term lie in each field, and how far the field is shifted.
        count[:] = 0
        end = np.int64(0)
        for f in range(len(fields)):
            row = fields[f] * documents + rows[r]
            shift[f] = end
            at, j = starts[row], 0
            for i in range(offsets[row], offsets[row + 1]):
                while j < len(by_term) and wanted[by_term[j]] < terms[i]:
                    j += 1
                if j < len(by_term) and wanted[by_term[j]] == terms[i]:
                    spot[f, by_term[j]], count[f, by_term[j]] = at, tf[i]
                at += tf[i]
            last = np.int64(-1)
            for p in range(starts[row], starts[row + 1]):
                last = max(last, np.int64(positions[p]))
            end += last + 1 + apart
        # The shifted positions of each term, field after field: they ascend as the fields do.
        for t in by_term:
            total = 0
            for f in range(len(fields)):
                for p in range(spot[f, t], spot[f, t] + count[f, t]) if count[f, t] else range(0):
                    places[filled] = positions[p] + shift[f]
                    filled += 1
                total += count[f, t]
            if total:
                new_terms[entries], new_tf[entries] = wanted[t], total
                entries += 1
        new_offsets[r + 1], new_starts[r + 1] = entries, filled
    return Forward(new_offsets, new_terms[:entries], new_tf[:entries], new_starts, places[:filled])
