"""Ranks by counting, in a Triton kernel: how many documents of its list stand above each row of a tile."""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["above_each"]


@jit
def above_each(  # type: ignore[no-untyped-def]
    values, along, start, n, first, own, gain, i, BEST: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr
):
    """How many documents of its list stand above each row of a tile, by value and by what goes along.

    Those before, within and after the tile are counted apart: only within it does the order of equals matter.
    """
    after = tl.minimum(first + BLOCK, n)
    above = tl.zeros([BLOCK], tl.float32)
    better = tl.zeros([BLOCK], tl.float32)
    above, better = _count_above(
        values, along, start, n, 0, first, own, gain, i, above, better, 0, BEST, WIDTH
    )
    above, better = _count_above(
        values, along, start, n, first, after, own, gain, i, above, better, 1, BEST, WIDTH
    )
    above, better = _count_above(
        values, along, start, n, after, n, own, gain, i, above, better, 2, BEST, WIDTH
    )
    return above, better


@jit
def _count_above(  # type: ignore[no-untyped-def]
    values, along, start, n, low, high, own, gain, i, above, better,
    LOOK: tl.constexpr, BEST: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Count the documents `low` to `high` that stand above each row, by value and by what goes along.

    Counts are kept as floats: comparing then adding is one instruction each.
    """
    for at in range(low, high, WIDTH):
        j = at + tl.arange(0, WIDTH)
        earlier = j.to(tl.float32)[:, None] < i.to(tl.float32)[None, :]
        other = tl.load(values + start + j, mask=j < n, other=float("-inf"))
        other = tl.where(other == other, other, float("-inf"))
        above += _stands(other, own, earlier, LOOK, WIDTH)
        if BEST:
            other = tl.load(along + start + j, mask=j < n, other=-1.0)
            better += _stands(other, gain, earlier, LOOK, WIDTH)
    return above, better


@jit
def _stands(other, own, earlier, LOOK: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """How many of the others stand above each row; equal ones do where they come earlier."""
    if LOOK == 0:  # all come earlier
        return WIDTH - tl.sum(tl.where(own[None, :] > other[:, None], 1.0, 0.0), 0)
    above = tl.where(other[:, None] > own[None, :], 1.0, 0.0)
    if LOOK == 1:
        above = tl.where(earlier, tl.where(other[:, None] >= own[None, :], 1.0, 0.0), above)
    return tl.sum(above, 0)
