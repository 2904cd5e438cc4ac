"""The rows and offsets of a batch, from those of an epoch to the buffers of a captured step: one launch."""

from __future__ import annotations

from torch import Tensor

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["feed"]

_WIDE = 1024


def feed(
    rows: Tensor, starts: Tensor, low: int, first: int, n_rows: int, n_lists: int, to: tuple[Tensor, ...]
) -> None:
    """Rows from `low` on and offsets from list `first` on; those past the batch belong to no list.

    `to` are the buffers: rows, offsets, and the number of lists.
    """
    size = max(to[0].shape[0], to[1].shape[0])
    _feed_kernel[(-(-size // _WIDE),)](
        rows, starts, *to, low, first, n_rows, n_lists, ROWS=to[0].shape[0], EDGES=to[1].shape[0], WIDE=_WIDE
    )


@jit
def _feed_kernel(  # type: ignore[no-untyped-def]
    rows, starts, to_rows, to_edges, to_count, low, first, n_rows, n_lists,
    ROWS: tl.constexpr, EDGES: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    tl.store(to_rows + i, tl.load(rows + low + i, mask=i < ROWS, other=0), mask=i < ROWS)
    edge = tl.load(starts + first + i, mask=i < EDGES, other=0) - low
    tl.store(to_edges + i, tl.minimum(edge, n_rows), mask=i < EDGES)
    if tl.program_id(0) == 0:
        tl.store(to_count, n_lists.to(tl.float32))
