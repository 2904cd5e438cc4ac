"""Blocks of tied documents in ordered lists on a device, and running sums over them in double precision."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import DeviceLists, list_sums

__all__ = ["NOTHING", "Blocks", "add_logs", "log_of", "log_scan", "running_sums", "sums_by", "tied_blocks"]

NOTHING = -1e300  # the logarithm of an empty sum

Tensor = Any


class Blocks(NamedTuple):
    """An order of the rows, and by rank the first and one past the last rank of those tied with it."""

    order: Tensor
    begin: Tensor
    end: Tensor
    first: Tensor  # of the list
    stop: Tensor

    def before(self, scan: Tensor, nothing: float = NOTHING) -> Tensor:
        """A running sum just before the block."""
        torch = require("torch", "neural")
        return torch.where(self.begin > self.first, scan[(self.begin - 1).clamp(min=0)], nothing)

    def after(self, scan: Tensor, nothing: float = NOTHING) -> Tensor:
        """A backward running sum just after the block."""
        torch = require("torch", "neural")
        return torch.where(self.end < self.stop, scan[self.end.clamp(max=len(scan) - 1)], nothing)

    def back(self, *by_rank: Tensor) -> list[Tensor]:
        """From ranks to rows."""
        torch = require("torch", "neural")
        made = [torch.empty_like(values) for values in by_rank]
        for out, values in zip(made, by_rank, strict=True):
            out[self.order] = values
        return made


def tied_blocks(lists: DeviceLists, order: Tensor, *columns: Tensor | None) -> Blocks:
    """Documents that are equal in all columns, where `order` sorts by them."""
    torch = require("torch", "neural")
    at = torch.arange(lists.n_documents, device=order.device)
    first, stop = _ends(lists)
    values = [column[order] for column in columns if column is not None]
    begin = _run_starts(*values, first, at < stop)  # rows past the last list stay out of its blocks
    return Blocks(order, begin, torch.searchsorted(begin, begin, right=True), first, stop)


def _run_starts(*by_rank: Tensor) -> Tensor:
    """By rank: where the run of ranks begins that are alike in all of these."""
    torch = require("torch", "neural")
    at = torch.arange(len(by_rank[0]), device=by_rank[0].device)
    new = torch.ones_like(at, dtype=torch.bool)
    new[1:] = False
    for values in by_rank:
        new[1:] |= values[1:] != values[:-1]
    return torch.where(new, at, 0).cummax(0).values


def sums_by(owner: Tensor, values: Tensor, count: int) -> Tensor:
    """The sum of the values of each of `count` owners, added up in the order in which they come."""
    torch = require("torch", "neural")
    owned, order = owner.sort(stable=True)
    edges = torch.searchsorted(owned, torch.arange(count + 1, device=owner.device))
    return list_sums(values[order], edges)


def log_of(values: Tensor) -> Tensor:
    torch = require("torch", "neural")
    return torch.where(values > 0, torch.log(values), NOTHING)


def log_scan(values: Tensor, offsets: Tensor, reverse: bool = False) -> Tensor:
    """The running log-sum of each list, from its first or its last document."""
    return _scan(values, offsets, reverse, logs=True)


def running_sums(values: Tensor, offsets: Tensor, reverse: bool = False) -> Tensor:
    """The running sum of each list, from its first or its last document."""
    return _scan(values, offsets, reverse, logs=False)


def _scan(values: Tensor, offsets: Tensor, reverse: bool, logs: bool) -> Tensor:
    torch = require("torch", "neural")
    made = torch.zeros_like(values)
    _scan_kernel[(len(offsets) - 1,)](values, offsets, made, REVERSE=reverse, LOGS=logs, WIDTH=128)
    return made


def _ends(lists: DeviceLists) -> tuple[Tensor, Tensor]:
    return lists.spread(lists.offsets[:-1]), lists.spread(lists.offsets[1:])


@jit
def add_logs(a, b):  # type: ignore[no-untyped-def]
    """log(exp(a) + exp(b))."""
    high = tl.maximum(a, b)
    return high + tl.log(1.0 + tl.exp(tl.minimum(a, b) - high))


@jit
def _scan_kernel(  # type: ignore[no-untyped-def]
    values, offsets, made, REVERSE: tl.constexpr, LOGS: tl.constexpr, WIDTH: tl.constexpr
):
    q = tl.program_id(0)
    start = tl.load(offsets + q)
    n = (tl.load(offsets + q + 1) - start).to(tl.int32)
    carried = tl.full([WIDTH], -1e300 if LOGS else 0.0, tl.float64)
    for low in range(0, n, WIDTH):
        k = low + tl.arange(0, WIDTH)
        at = start + (n - 1 - k if REVERSE else k)
        x = tl.load(values + at, mask=k < n, other=-1e300 if LOGS else 0.0)
        if LOGS:
            x = add_logs(tl.associative_scan(x, 0, add_logs), carried)
            carried = tl.zeros([WIDTH], tl.float64) + tl.max(x, 0)  # running sums only grow
        else:
            chunk = tl.sum(x, 0)
            x = tl.cumsum(x, 0) + carried
            carried += chunk
        tl.store(made + at, x, mask=k < n)
