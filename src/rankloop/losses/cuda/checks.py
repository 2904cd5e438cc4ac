"""Whether the kernels on a device can take the input: one pass over everything, one number for the host.

The kernels start before that number arrives: wrong offsets are replaced by zeros on the device, which makes
all lists empty. Kernels that read every row once check it themselves (`Limits`): they take a list whose
offsets are wrong as empty, and write the number straight into memory of the host.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import DevicePairs
from rankloop.losses.loss import Loss

__all__ = ["HIGHEST", "InputCheck", "Limits", "check_input", "limits_of", "sound_list", "sound_rows"]

HIGHEST = 60.0  # 2^label and its square stay far from the end of float32
_LARGEST = 3e38
_ROWS = 1024

Tensor = Any


class _Mailbox(NamedTuple):
    """Where the number arrives on the host, and what tells that it has."""

    number: Tensor
    event: Any


_mailboxes = threading.local()  # a mailbox for each device: each check is read before the next one is made


class InputCheck:
    """Whether there is no error: `good` is 1 on the device, else 0; the host reads it when it needs it."""

    def __init__(self, good: Tensor) -> None:
        self.good, self.event = good, None
        if good.is_cuda:
            self.copied, self.event = _mailbox(good.device)
            self.copied.copy_(good, non_blocking=True)
            self.event.record()

    def is_bad(self) -> bool:
        """Waits for the check alone, not for the kernels that were started after it."""
        if self.event is None:
            return not bool(self.good)
        self.event.synchronize()
        return not bool(self.copied)


class Limits:
    """What a kernel that checks its input needs: where to write a 0, and between what labels must lie."""

    def __init__(self, device: Any, lowest: float, highest: float) -> None:
        self.lowest, self.highest, self.device = lowest, highest, device
        self.good, self.event = _mailbox(device)
        self.good.fill_(1)

    def checked(self) -> None:
        """The kernel was started."""
        if self.event is not None:
            # Given the number of the device, PyTorch finds the stream in a fraction of the time.
            self.event.record(require("torch", "neural").cuda.current_stream(self.device.index))

    def is_bad(self) -> bool:
        if self.event is not None:
            self.event.synchronize()
        return not int(self.good)


def _mailbox(device: Any) -> _Mailbox:
    made: dict[Any, _Mailbox] = _mailboxes.__dict__
    key = str(device)
    if key not in made:
        torch = require("torch", "neural")
        if device.type != "cuda":
            return _Mailbox(torch.ones(1, dtype=torch.int64), None)
        with torch.cuda.device(device):
            made[key] = _Mailbox(torch.empty(1, dtype=torch.int64, pin_memory=True), torch.cuda.Event())
    return made[key]


def limits_of(chosen: Loss, scores: Tensor, labels: Tensor, *others: Tensor | None) -> Limits | None:
    """For a kernel that checks its input; None for wrong shapes.

    `others` are the offsets, the weights and those of lists.
    """
    if not _fit(scores, labels, *others):
        return None
    return Limits(scores.device, *_labels_between(chosen))


def _fit(
    scores: Tensor, labels: Tensor, offsets: Tensor, weight: Tensor | None, query_weight: Tensor | None
) -> bool:
    if scores.ndim != 1 or scores.shape != labels.shape or offsets.ndim != 1:
        return False
    rows, n_lists = scores.shape[0], offsets.shape[0] - 1
    if rows == 0 or n_lists < 1 or (weight is not None and weight.shape != scores.shape):
        return False
    return query_weight is None or query_weight.shape == (n_lists,)


def _labels_between(chosen: Loss) -> tuple[float, float]:
    gain = getattr(chosen, "gain", "linear")
    highest = len(gain) - 1.0 if isinstance(gain, tuple) else HIGHEST
    if getattr(chosen, "max_label", None) is not None:
        highest = min(highest, chosen.max_label)  # type: ignore[attr-defined]  # it has, see above
    return -_LARGEST if chosen.signed_labels else 0.0, highest


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
    if not _fit(scores, labels, offsets, weight, query_weight):
        return None
    rows, n_lists, gain = scores.shape[0], offsets.shape[0] - 1, getattr(chosen, "gain", "linear")
    lowest, highest = _labels_between(chosen)
    good = torch.ones(1, dtype=torch.int64, device=scores.device)
    _check_kernel[(-(-max(rows, n_lists + 1) // _ROWS),)](
        scores, labels, offsets, labels if weight is None else weight,
        labels if query_weight is None else query_weight, good, rows, n_lists,
        lowest, highest, _LARGEST,
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
def sound_rows(s, y, weights, i, there, lowest, highest, WEIGHTED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Whether scores are finite, and labels and weights within their limits."""
    good = (s >= -3e38) & (s <= 3e38) & (y >= lowest) & (y <= highest)
    if WEIGHTED:
        w = tl.load(weights + i, mask=there, other=0.0)
        good &= (w >= 0.0) & (w <= 3e38)
    return good | ~there


@jit
def sound_list(offsets, by_list, q, n_lists, rows, LISTED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Where a list starts and ends, an empty one where that is wrong; and whether it is right."""
    start, stop = tl.load(offsets + q), tl.load(offsets + q + 1)
    good = (start >= 0) & (stop >= start) & (stop <= rows)
    begin = tl.where(good, start, 0)
    end = tl.where(good, stop, 0)
    good &= ((q != 0) | (start == 0)) & ((q != n_lists - 1) | (stop == rows))
    if LISTED:
        w = tl.load(by_list + q)
        good &= (w >= 0.0) & (w <= 3e38)
    return begin, end, good


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
