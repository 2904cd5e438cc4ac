"""Whether the kernels on a device can take the input: one pass over everything, one number copied back.

The kernels start before that number arrives: wrong offsets are replaced by zeros on the device, which makes
all lists empty.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import DevicePairs
from rankloop.losses.loss import Loss

__all__ = ["HIGHEST", "InputCheck", "check_input"]

HIGHEST = 60.0  # 2^label and its square stay far from the end of float32
_LARGEST = 3e38
_ROWS = 1024

Tensor = Any


class _Mailbox(NamedTuple):
    """Where the number arrives on the host, and what tells that it has."""

    copied: Tensor
    event: Any


_mailboxes = threading.local()  # a mailbox for each device: each check is read before the next one is made


class InputCheck:
    """Whether there is no error: `good` is 1 on the device, else 0; the host reads it when it needs it."""

    def __init__(self, good: Tensor) -> None:
        self.good, self.event = good, None
        if good.is_cuda:
            self.copied, self.event = _mailbox(good)
            self.copied.copy_(good, non_blocking=True)
            self.event.record()

    def is_bad(self) -> bool:
        """Waits for the check alone, not for the kernels that were started after it."""
        if self.event is None:
            return not bool(self.good)
        self.event.synchronize()
        return not bool(self.copied)


def _mailbox(good: Tensor) -> _Mailbox:
    made: dict[Any, _Mailbox] = _mailboxes.__dict__
    key = str(good.device)
    if key not in made:
        torch = require("torch", "neural")
        with torch.cuda.device(good.device):
            made[key] = _Mailbox(torch.empty(1, dtype=good.dtype, pin_memory=True), torch.cuda.Event())
    return made[key]


def check_input(
    chosen: Loss,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    weight: Tensor | None,
    query_weight: Tensor | None,
    pairs: DevicePairs | None,
) -> InputCheck | None:
    """Good where the CPU's checks would pass and no label is too high for float32; None for wrong shapes."""
    torch = require("torch", "neural")
    if scores.ndim != 1 or scores.shape != labels.shape or offsets.ndim != 1:
        return None
    rows, n_lists = scores.shape[0], offsets.shape[0] - 1
    if rows == 0 or n_lists < 1 or (weight is not None and weight.shape != scores.shape):
        return None
    if query_weight is not None and query_weight.shape != (n_lists,):
        return None
    gain = getattr(chosen, "gain", "linear")
    highest = len(gain) - 1.0 if isinstance(gain, tuple) else HIGHEST
    if getattr(chosen, "max_label", None) is not None:
        highest = min(highest, chosen.max_label)  # type: ignore[attr-defined]
    good = torch.ones(1, dtype=torch.int64, device=scores.device)
    _check_kernel[(-(-max(rows, n_lists + 1) // _ROWS),)](
        scores, labels, offsets, labels if weight is None else weight,
        labels if query_weight is None else query_weight, good, rows, n_lists,
        -_LARGEST if chosen.signed_labels else 0.0, highest, _LARGEST,
        WHOLE=isinstance(gain, tuple), WEIGHTED=weight is not None, LISTED=query_weight is not None,
        ROWS=_ROWS,
    )  # fmt: skip
    return InputCheck(good if pairs is None else good * _joined(pairs, offsets, rows))


def _joined(pairs: DevicePairs, offsets: Tensor, rows: int) -> Tensor:
    """Whether both rows of every pair are there, and in one list."""
    torch = require("torch", "neural")
    better, worse = pairs.better, pairs.worse
    inside = (better >= 0) & (worse >= 0) & (better < rows) & (worse < rows)
    edges = offsets[1:].contiguous()
    together = torch.searchsorted(edges, better, right=True) == torch.searchsorted(edges, worse, right=True)
    return (inside & together).all()


@jit
def _check_kernel(  # type: ignore[no-untyped-def]
    scores, labels, offsets, weights, by_list, result, n, n_lists, lowest, highest, largest,
    WHOLE: tl.constexpr, WEIGHTED: tl.constexpr, LISTED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    s = tl.load(scores + i, mask=i < n, other=0.0)
    y = tl.load(labels + i, mask=i < n, other=lowest)
    good = (s >= -largest) & (s <= largest) & (((y >= lowest) & (y <= highest)) | (i >= n))
    if WHOLE:
        good &= y == tl.floor(y)
    if WEIGHTED:
        w = tl.load(weights + i, mask=i < n, other=0.0)
        good &= (w >= 0.0) & (w <= largest)
    if LISTED:
        w = tl.load(by_list + i, mask=i < n_lists, other=0.0)
        good &= (w >= 0.0) & (w <= largest)
    here = tl.load(offsets + i, mask=i <= n_lists, other=0)
    following = tl.load(offsets + i + 1, mask=i < n_lists, other=n)
    good &= (following >= here) | (i >= n_lists)
    good &= ((i != 0) | (here == 0)) & ((i != n_lists) | (here == n))
    bad = tl.sum(tl.where(good, 0, 1), 0)
    if bad > 0:
        tl.store(result, 0)
