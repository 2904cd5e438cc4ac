"""The rows and offsets of the next batch, from those of an epoch to the buffers of a captured step."""

from __future__ import annotations

from torch import Tensor

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["feed"]

_PROGRAMS, _WIDE = 32, 512


def feed(epoch: tuple[Tensor, Tensor, Tensor, Tensor], to: tuple[Tensor, Tensor, Tensor]) -> None:
    """What follows the batch belongs to no list.

    `epoch` has the rows of all lists in order; where each list starts; by batch its first row, its first list
    and how many it has of both; and what counts the batches. `to` are rows, offsets and the number of lists.
    """
    n_rows, n_edges = to[0].shape[0], to[1].shape[0]
    _feed_kernel[(_PROGRAMS,)](
        *epoch, *to, ROWS=n_rows, EDGES=n_edges, SIZE=max(n_rows, n_edges), PROGRAMS=_PROGRAMS, WIDE=_WIDE
    )


@jit
def _feed_kernel(  # type: ignore[no-untyped-def]
    rows, starts, table, turn, to_rows, to_edges, to_count, ROWS: tl.constexpr, EDGES: tl.constexpr,
    SIZE: tl.constexpr, PROGRAMS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    batch = tl.atomic_add(turn, 1) // PROGRAMS  # each program counts itself
    first_row = tl.load(table + batch * 4)
    first_list = tl.load(table + batch * 4 + 1)
    many_rows = tl.load(table + batch * 4 + 2)
    many_lists = tl.load(table + batch * 4 + 3)
    for begin in range(tl.program_id(0) * WIDE, SIZE, PROGRAMS * WIDE):
        i = begin + tl.arange(0, WIDE)
        row = tl.load(rows + first_row + i, mask=i < many_rows, other=0)
        tl.store(to_rows + i, row, mask=i < ROWS)
        edge = tl.load(starts + first_list + i, mask=i <= many_lists, other=0) - first_row
        tl.store(to_edges + i, tl.where(i <= many_lists, edge, many_rows), mask=i < EDGES)
    if tl.program_id(0) == 0:
        tl.store(to_count, many_lists.to(tl.float32))
