"""What kernels that finish their lists share: room for results, the factor of a list, means over samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import DeviceLists

__all__ = ["list_factor", "mean_of_samples", "outcome"]

_ROOM = 2**25  # rows of all samples that are drawn at a time

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def outcome(lists: DeviceLists, *, curved: bool, samples: int = 1) -> Parts:
    """Room for value, gradient and Hessian in double precision, for one sample after the other.

    Without `curved` there is one number for Hessian. Where the kernel checks its input each row is in a list,
    which writes it; otherwise there are zeros, because rows that belong to no list have no gradient.
    """
    torch = require("torch", "neural")
    like = {"dtype": torch.float64, "device": lists.scores.device}
    rows, values = samples * lists.n_documents, samples * lists.n_lists
    make = torch.zeros if lists.limits is None or not curved else torch.empty
    sizes = (values, rows, rows if curved else 1)
    value, gradient, hessian = make(sum(sizes), **like).split(sizes)
    return value, gradient, hessian


def mean_of_samples(
    lists: DeviceLists, samples: int, some: Callable[[range], Parts], *, most: int | None = None
) -> Parts:
    """The mean of what `some` gives for samples, at most so many at a time, and as memory is taken for."""
    step = max(1, min(most or samples, _ROOM // max(lists.n_documents, 1)))
    total: list[Tensor] = []
    for first in range(0, samples, step):
        drawn = range(first, min(first + step, samples))
        parts = [_summed(part, len(drawn)) for part in some(drawn)]
        total = [a + b for a, b in zip(total, parts, strict=True)] if total else parts
    value, gradient, hessian = (part / samples for part in total)
    return value, gradient, hessian


def _summed(part: Tensor, samples: int) -> Tensor:
    return part.view(samples, -1).sum(0) if len(part) % samples == 0 else part


@jit
def list_factor(  # type: ignore[no-untyped-def]
    labels, by_list, q, start, stop, LISTED: tl.constexpr, CONTRAST: tl.constexpr, WIDTH: tl.constexpr
):
    """The weight of list q, and 0 where its labels are all equal and that counts."""
    factor = tl.load(by_list + q).to(tl.float64) if LISTED else tl.full([], 1.0, tl.float64)
    if CONTRAST:
        apart = tl.zeros([WIDTH], tl.int32)
        first = tl.load(labels + start, mask=start < stop, other=0.0)
        for low in range(start, stop, WIDTH):
            i = low + tl.arange(0, WIDTH)
            apart |= (tl.load(labels + i, mask=i < stop, other=first) != first).to(tl.int32)
        factor = tl.where(tl.max(apart, 0) > 0, factor, 0.0)
    return factor
