"""Random numbers by counter on a device: those of `kernels.draws`, to rounding."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.kernels.draws import draw_key

__all__ = ["gumbel_draws", "uniform_at"]

_ROWS = 512

Tensor = Any


def gumbel_draws(seed: int, samples: range, count: int, device: Any) -> Tensor:
    """Gumbel noise in double precision, a row of `count` numbers for each of the samples."""
    torch = require("torch", "neural")
    made = torch.empty(len(samples), count, dtype=torch.float64, device=device)
    _gumbel_kernel[(-(-count // _ROWS), len(samples))](made, draw_key(seed), samples.start, count, ROWS=_ROWS)
    return made


@jit
def uniform_at(key, sample, row):  # type: ignore[no-untyped-def]
    """The number of each row, between 0 and 1."""
    row = row.to(tl.int64)
    low = (row & 0xFFFFFFFF).to(tl.uint32)
    high = (row >> 32).to(tl.uint32)
    none = tl.zeros_like(low)
    first, second, _, _ = tl.philox(key.to(tl.int64), low, high, none + sample.to(tl.uint32), none)
    word = (first.to(tl.uint64) << 20) | (second.to(tl.uint64) >> 12)
    return (word.to(tl.float64) + 0.5) * 2.220446049250313e-16


@jit
def _gumbel_kernel(made, key, first, count, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    sample = tl.program_id(1).to(tl.int64)
    noise = -tl.log(-tl.log(uniform_at(key, sample + first, row)))
    tl.store(made + sample * count + row, noise, mask=row < count)
