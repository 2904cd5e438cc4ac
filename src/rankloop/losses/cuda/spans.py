"""Tiles of ragged lists without a table: a program finds its list and its rows from the offsets alone.

The first programs take the first tile of each list. The others share the further tiles: as many as there are
blocks in all rows, so that some have nothing to do. Every one of them finds its list by a search in which a
warp looks at 32 places at a time.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["programs", "span_of"]


def programs(n_lists: int, rows: int, block: int, each: int) -> tuple[int]:
    """The grid: programs of `each` further tiles follow the first tiles; there is at least one of them."""
    return (n_lists + rows // (block * each) + 1,)


@jit
def span_of(offsets, slot, n_lists, rows, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """The list of a tile, where it starts, its length, and the tile's first row in it.

    A tile that does not exist begins at the end of its list; offsets outside the rows make an empty list.
    """
    q = slot
    tile = 0
    if slot >= n_lists:
        further = slot - n_lists
        # The list in which row number (further + 1) * BLOCK - 1 lies: offsets[q] // BLOCK <= further.
        q = 0
        width = n_lists
        while width > 1:
            step = (width + 31) // 32
            at = q + step * tl.arange(0, 32)
            begins = tl.load(offsets + at, mask=at < n_lists, other=rows + BLOCK) // BLOCK
            found = tl.sum(((begins <= further) & (at < tl.minimum(q + width, n_lists))).to(tl.int32), 0)
            q += step * tl.maximum(found - 1, 0)
            width = step
        tile = further - (tl.load(offsets + q) // BLOCK).to(tl.int32) + 1
    start = tl.load(offsets + q)
    stop = tl.load(offsets + q + 1)
    sound = (start >= 0) & (stop >= start) & (stop <= rows)
    n = tl.where(sound, stop - start, 0).to(tl.int32)
    first = tl.where((tile < 0) | (tile * BLOCK > n), n, tile * BLOCK)
    return q, tl.where(sound, start, 0), n, first
