"""Sums of two branches, dropout and layer norm in one pass over the tokens, and the same backwards.

Dropout draws nothing: a hash of token, column and key says what is kept, forwards and backwards alike.
Gradients of the parameters are added up by each program for its own tokens, then over the programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["Drop", "Normed", "normed", "normed_back", "normed_words", "normed_words_back"]

_ROWS, _PROGRAMS = 2, 2112  # of the kernel backwards; forwards a program has one row
_WHOLE = 1 << 24


@dataclass(frozen=True, slots=True)
class Drop:
    """Which share of the numbers is left out, and the key of the draw, on the device."""

    share: float
    key: Tensor

    @property
    def given(self) -> tuple[Tensor, int, float]:
        """Key, limit and scale for a kernel."""
        limit = round(self.share * _WHOLE)
        return self.key, limit, _WHOLE / (_WHOLE - limit)


@dataclass(frozen=True, slots=True)
class Normed:
    """What a norm gives, and what its gradient needs: the same without gain and shift, 1 / deviation."""

    out: Tensor
    unit: Tensor
    inverse: Tensor


def normed(branch: Tensor, bias: Tensor, residual: Tensor, norm: nn.LayerNorm, drop: Drop) -> Normed:
    """norm(residual + dropout(branch + bias))."""
    rows, width = residual.shape
    made = _room(residual)
    _norm_kernel[(rows,)](
        branch, bias, residual, residual, residual, residual, norm.weight, norm.bias,
        made.out, made.unit, made.inverse, norm.eps, *drop.given, WORDS=False, DROP=drop.share > 0,
        WIDTH=width, BLOCK=_power(width), num_warps=1,
    )  # fmt: skip
    return made


def normed_words(
    numbers: Sequence[Tensor], tables: Sequence[Tensor], norm: nn.LayerNorm, drop: Drop, dtype: torch.dtype
) -> Normed:
    """dropout(norm(sum of the rows of three tables with these numbers))."""
    rows, width = numbers[0].shape[0], tables[0].shape[1]
    made = _room(tables[0].new_empty(rows, width, dtype=dtype))
    _norm_kernel[(rows,)](
        *tables, *numbers, norm.weight, norm.bias, made.out, made.unit, made.inverse, norm.eps,
        *drop.given, WORDS=True, DROP=drop.share > 0, WIDTH=width, BLOCK=_power(width), num_warps=1,
    )  # fmt: skip
    return made


def normed_back(
    upstream: Tensor, made: Normed, gain: Tensor, drop: Drop
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Gradients of the residual and the branch, and of gain, shift and bias."""
    dropped = drop.share > 0
    residual = torch.empty_like(upstream)
    branch = torch.empty_like(upstream) if dropped else residual
    return residual, branch, _back(upstream, made, gain, drop, residual, branch, words=False)


def normed_words_back(
    upstream: Tensor, made: Normed, gain: Tensor, drop: Drop
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Gradients of the sum of the rows, and of gain and shift."""
    summed = torch.empty_like(upstream)
    return summed, _back(upstream, made, gain, drop, summed, summed, words=True)[:2]


def _back(
    upstream: Tensor, made: Normed, gain: Tensor, drop: Drop, residual: Tensor, branch: Tensor, *, words: bool
) -> tuple[Tensor, Tensor, Tensor]:
    rows, width = upstream.shape
    programs = min(_PROGRAMS, -(-rows // _ROWS))
    parts = torch.empty(programs, 3, width, dtype=torch.float32, device=upstream.device)
    _norm_back_kernel[(programs,)](
        upstream, made.unit, made.inverse, gain, residual, branch, parts, rows, *drop.given,
        WORDS=words, DROP=drop.share > 0, WIDTH=width, BLOCK=_power(width), ROWS=_ROWS, num_warps=1,
    )  # fmt: skip
    of_gain, of_shift, of_bias = parts.sum(0).unbind()
    return of_gain, of_shift, of_bias


def _room(like: Tensor) -> Normed:
    inverse = torch.empty(like.shape[0], dtype=torch.float32, device=like.device)
    return Normed(torch.empty_like(like), torch.empty_like(like), inverse)


def _power(width: int) -> int:
    return 1 << (width - 1).bit_length()


@jit
def _mixed(x):  # type: ignore[no-untyped-def]
    """A hash of 32 bits (lowbias32 of Wellons)."""
    x ^= x >> 16
    x *= 0x7FEB352D
    x ^= x >> 15
    x *= 0x846CA68B
    return x ^ (x >> 16)


@jit
def _kept(row, column, key, limit):  # type: ignore[no-untyped-def]
    """Whether dropout keeps each number."""
    of_row = _mixed(row.to(tl.uint32) ^ key.to(tl.uint32))
    return (_mixed(of_row + column.to(tl.uint32)) >> 8) >= limit


@jit
def _norm_kernel(  # type: ignore[no-untyped-def]
    branch, bias, residual, first, second, third, gains, shifts, out, units, inverses, eps, keys,
    limit, scale, WORDS: tl.constexpr, DROP: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    wide = c < WIDTH
    at = row.to(tl.int64) * WIDTH + c
    if WORDS:  # the tables are given as branch, bias and residual
        x = tl.load(branch + tl.load(first + row) * WIDTH + c, mask=wide, other=0.0)
        x += tl.load(bias + tl.load(second + row) * WIDTH + c, mask=wide, other=0.0)
        x += tl.load(residual + tl.load(third + row) * WIDTH + c, mask=wide, other=0.0)
    else:
        x = tl.load(branch + at, mask=wide, other=0.0).to(tl.float32)
        x += tl.load(bias + c, mask=wide, other=0.0)
        if DROP:
            x = tl.where(_kept(row, c, tl.load(keys), limit), x * scale, 0.0)
        x += tl.load(residual + at, mask=wide, other=0.0).to(tl.float32)
        x = tl.where(wide, x, 0.0)
    x = tl.where(wide, x - tl.sum(x, 0) / WIDTH, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(x * x, 0) / WIDTH + eps)
    x *= inverse
    tl.store(units + at, x.to(units.dtype.element_ty), mask=wide)
    tl.store(inverses + row, inverse)
    x = x * tl.load(gains + c, mask=wide, other=0.0) + tl.load(shifts + c, mask=wide, other=0.0)
    if WORDS and DROP:
        x = tl.where(_kept(row, c, tl.load(keys), limit), x * scale, 0.0)
    tl.store(out + at, x.to(out.dtype.element_ty), mask=wide)


@jit
def _norm_back_kernel(  # type: ignore[no-untyped-def]
    upstream, units, inverses, gains, residual, branch, parts, rows, keys, limit, scale,
    WORDS: tl.constexpr, DROP: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, BLOCK)[None, :]
    wide = c < WIDTH
    gain = tl.load(gains + c, mask=wide, other=0.0)
    key = tl.load(keys)
    of_gain = tl.zeros([ROWS, BLOCK], tl.float32)
    of_shift = tl.zeros([ROWS, BLOCK], tl.float32)
    of_bias = tl.zeros([ROWS, BLOCK], tl.float32)
    for low in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = low + tl.arange(0, ROWS)[:, None]
        there = (row < rows) & wide
        at = row.to(tl.int64) * WIDTH + c
        up = tl.load(upstream + at, mask=there, other=0.0).to(tl.float32)
        if WORDS and DROP:
            up = tl.where(_kept(row, c, key, limit), up * scale, 0.0)
        unit = tl.load(units + at, mask=there, other=0.0).to(tl.float32)
        of_gain += up * unit
        of_shift += up
        up *= gain
        level = tl.sum(up, 1)[:, None] / WIDTH
        slope = tl.sum(up * unit, 1)[:, None] / WIDTH
        inverse = tl.load(inverses + row, mask=row < rows, other=0.0)
        up = (up - level - unit * slope) * inverse
        tl.store(residual + at, up.to(residual.dtype.element_ty), mask=there)
        if DROP and not WORDS:
            up = tl.where(_kept(row, c, key, limit), up * scale, 0.0)
            tl.store(branch + at, up.to(branch.dtype.element_ty), mask=there)
        if not WORDS:
            of_bias += tl.where(there, up, 0.0)
    parts += tl.program_id(0) * 3 * WIDTH
    column = tl.arange(0, BLOCK)
    tl.store(parts + column, tl.sum(of_gain, 0), mask=column < WIDTH)
    tl.store(parts + WIDTH + column, tl.sum(of_shift, 0), mask=column < WIDTH)
    tl.store(parts + 2 * WIDTH + column, tl.sum(of_bias, 0), mask=column < WIDTH)
