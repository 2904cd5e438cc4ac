"""Where a document has the terms of a query, from the forward index: its text need not be read for that."""

import numpy as np

from rankloop._arrays import Ints
from rankloop._jit import kernel
from rankloop.search.index.postings import Forward
from rankloop.search.index.top import place_of

__all__ = ["word_places"]


@kernel
def word_places(forward: Forward, row: int, wanted: Ints, most: int) -> tuple[Ints, Ints]:
    """The first `most` positions at which a row has wanted terms, ascending, and which of the terms.

    `wanted` are numbers of terms, ascending. A position is there once for each term that it has.
    """
    offsets, terms, tf, starts, positions = forward
    first, last = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
    which = np.empty(len(wanted), np.int64)
    # The terms that the row has, and where their positions lie: those of the row's terms before come first.
    spot, i, end = starts[row], offsets[row], offsets[row + 1]
    has, total = 0, 0
    for t in range(len(wanted)):
        found = place_of(terms, i, end, np.int32(wanted[t]))
        for count in tf[i:found]:
            spot += count
        i = found
        if found < end and terms[found] == wanted[t]:
            first[has], last[has], which[has] = spot, spot + tf[found], t
            total += tf[found]
            has += 1
    # Their positions ascend, and are merged.
    place, term = np.empty(total, np.int64), np.empty(total, np.int64)
    size, different, before = 0, 0, np.int64(-1)
    while size < total:
        lowest, here = -1, np.int64(2**62)
        for t in range(has):
            if first[t] < last[t] and positions[first[t]] < here:
                lowest, here = t, np.int64(positions[first[t]])
        if here != before:
            if different == most:
                break
            different, before = different + 1, here
        place[size], term[size] = here, which[lowest]
        first[lowest] += 1
        size += 1
    return place[:size], term[:size]
