"""The activation of a layer with the bias before it, forwards and backwards."""

import torch
from torch import Tensor

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["activated", "activated_back"]

_KINDS = {"gelu": 0, "gelu_new": 1, "relu": 2}
_ROWS, _COLUMNS, _WARPS, _PROGRAMS = 16, 128, 4, 264


def activated(x: Tensor, bias: Tensor, kind: str) -> Tensor:
    """The activation of x + bias."""
    made = torch.empty_like(x)
    rows, width = x.shape
    _forward[(-(-rows // _ROWS), -(-width // _COLUMNS))](
        x, bias, made, rows, width, KIND=_KINDS[kind], ROWS=_ROWS, COLUMNS=_COLUMNS, num_warps=_WARPS
    )
    return made


def activated_back(upstream: Tensor, x: Tensor, bias: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """The gradients of x, written over `upstream`, and of the bias."""
    rows, width = x.shape
    programs = min(_PROGRAMS, -(-rows // _ROWS))
    parts = torch.empty(programs, width, dtype=torch.float32, device=x.device)
    _backward[(programs, -(-width // _COLUMNS))](
        upstream, x, bias, parts, rows, width, KIND=_KINDS[kind], ROWS=_ROWS, COLUMNS=_COLUMNS,
        num_warps=_WARPS,
    )  # fmt: skip
    return upstream, parts.sum(0)


@jit
def _share(x, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    """The activation over x, and the derivative of the activation."""
    if KIND == 0:  # the error function by formula 7.1.26 of Abramowitz and Stegun, to 1.5e-7
        bell = tl.exp2(-0.72134752 * x * x)
        t = 1.0 / (1.0 + 0.23164189 * tl.abs(x))
        tail = t * (
            0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)))
        )
        share = tl.where(x > 0, 1.0 - bell * tail, bell * tail)
        slope = share + x * 0.39894228 * bell
    elif KIND == 1:
        share = tl.sigmoid(1.59576912 * (x + 0.044715 * x * x * x))
        slope = share + share * (1.0 - share) * 1.59576912 * (x + 0.134145 * x * x * x)
    else:
        share = tl.where(x > 0, 1.0, 0.0)
        slope = share
    return share, slope


@jit
def _forward(  # type: ignore[no-untyped-def]
    values, bias, made, rows, width, KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    there = (row < rows) & (c < width)
    at = row.to(tl.int64) * width + c
    x = tl.load(values + at, mask=there, other=0.0) + tl.load(bias + c, mask=c < width, other=0.0)
    share, _ = _share(x, KIND)
    tl.store(made + at, (x * share).to(made.dtype.element_ty), mask=there)


@jit
def _backward(  # type: ignore[no-untyped-def]
    upstream, values, bias, parts, rows, width,
    KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    b = tl.load(bias + c, mask=c < width, other=0.0)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for low in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = low + tl.arange(0, ROWS)[:, None]
        there = (row < rows) & (c < width)
        at = row.to(tl.int64) * width + c
        _, slope = _share(tl.load(values + at, mask=there, other=0.0) + b, KIND)
        up = tl.load(upstream + at, mask=there, other=0.0) * slope
        tl.store(upstream + at, up.to(upstream.dtype.element_ty), mask=there)
        total += tl.where(there, up, 0.0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(parts + tl.program_id(0) * width + column, tl.sum(total, 0), mask=column < width)
