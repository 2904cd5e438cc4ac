"""Ragged lists on a device: tiles of rows, ranks by counting, sums; no step waits for the host."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.above_each import above_each

__all__ = [
    "BLOCK",
    "WARPS",
    "WIDTH",
    "BestSort",
    "DeviceLists",
    "DevicePairs",
    "list_max",
    "list_sums",
    "order_of",
    "repeated",
    "sort_and_best",
    "sort_of",
    "tiled",
]

# Rows of a tile, which lie along the lanes of its warps, and the documents that they meet at a time.
BLOCK, WARPS, WIDTH = 64, 1, 32

Tensor = Any


class DevicePairs(NamedTuple):
    """Explicit preferences between rows, as tensors; probability and weight in double precision."""

    better: Tensor
    worse: Tensor
    probability: Tensor
    weight: Tensor


class Tiles:
    """The tiles of lists: computed when a kernel asks for them, and there are as many as any lists need.

    That many are known without looking: the last ones may be empty.
    """

    def __init__(self, offsets: Tensor, rows: int) -> None:
        # Read once: the shape of a tensor takes the host longer than an attribute.
        self.offsets, self.rows, self.n_lists = offsets, rows, offsets.shape[0] - 1
        self.most = rows // BLOCK + self.n_lists

    @cached_property
    def owners_and_ends(self) -> tuple[Tensor, Tensor]:
        """The list of each tile; and by list, the tiles up to its end."""
        torch = require("torch", "neural")
        ends = ((self.offsets.diff() + (BLOCK - 1)) // BLOCK).cumsum(0)
        tile = torch.arange(self.most, device=self.offsets.device)
        return torch.searchsorted(ends, tile, right=True), ends


class DeviceLists(NamedTuple):
    """A batch of lists as tensors, and the tiles that its lists are cut into.

    `query_weight` and `contrast` are for kernels that finish what they compute: whether to scale a list, and
    whether one of equal labels counts nothing.
    """

    scores: Tensor  # float32, or float64 where gaps must be exact
    labels: Tensor  # float32
    offsets: Tensor  # int64
    weight: Tensor | None  # float32
    tiles: Tiles
    query_weight: Tensor | None = None  # float32
    contrast: bool = False
    pairs: DevicePairs | None = None
    limits: Any = None  # `checks.Limits`, where the kernel checks its input

    @property
    def n_lists(self) -> int:
        return int(self.tiles.n_lists)

    @property
    def n_documents(self) -> int:
        return self.tiles.rows

    @property
    def tile_list(self) -> Tensor:
        return self.tiles.owners_and_ends[0]

    @property
    def tile_ends(self) -> Tensor:
        return self.tiles.owners_and_ends[1]

    @property
    def grid(self) -> tuple[int]:
        return (self.tiles.most,)

    def rows(self) -> Tensor:
        """The list of each row; rows past the last list count to it."""
        torch = require("torch", "neural")
        row = torch.arange(self.n_documents, device=self.offsets.device)
        return torch.searchsorted(self.offsets[1:-1].contiguous(), row, right=True)

    def spread(self, per_list: Tensor) -> Tensor:
        """One value per document from one per list."""
        return per_list[self.rows()]

    @property
    def weights(self) -> tuple[Tensor, Tensor]:
        """The weights of documents and of lists for a kernel; where there are none, anything."""
        by_list = self.labels if self.query_weight is None else self.query_weight
        return self.labels if self.weight is None else self.weight, by_list

    @property
    def switches(self) -> dict[str, bool]:
        """What a kernel that finishes its lists has to look at."""
        listed = self.query_weight is not None
        return {"WEIGHTED": self.weight is not None, "LISTED": listed, "CONTRAST": self.contrast}

    def weighted(self, amounts: Tensor) -> Tensor:
        return amounts if self.weight is None else amounts * self.weight


def tiled(scores: Tensor, labels: Tensor, offsets: Tensor, weight: Tensor | None) -> DeviceLists:
    return DeviceLists(scores, labels, offsets, weight, Tiles(offsets, len(scores)))


def repeated(lists: DeviceLists, times: int) -> DeviceLists:
    """The lists several times over, each time with one more for the rows past the last list."""
    torch = require("torch", "neural")
    rows = lists.n_documents
    starts = rows * torch.arange(times, device=lists.offsets.device)
    edges = (starts[:, None] + lists.offsets[None, :]).view(-1)
    edges = torch.cat((edges, edges.new_full((1,), rows * times)))
    weight = None if lists.weight is None else lists.weight.repeat(times)
    scores, labels = lists.scores.repeat(times), lists.labels.repeat(times)
    return tiled(scores, labels, edges, weight)


def order_of(lists: DeviceLists, values: Tensor) -> Tensor:
    """The rows of each list by falling value; equal values keep their order, nan comes last.

    Each document counts those above it: no sort of all lists by score and then by list.
    """
    return sort_of(lists, values, values)[0]


def sort_of(lists: DeviceLists, values: Tensor, along: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """That order, and by rank the values and what goes along with them."""
    return _sorted(lists, values, along)


class BestSort(NamedTuple):
    """Lists by falling score: rows, scores, gains and discounts by rank; 1 / the DCG of the best order."""

    order: Tensor
    ranked: Tensor
    gain: Tensor
    discount: Tensor
    scale: Tensor


def sort_and_best(lists: DeviceLists, values: Tensor, gain: Tensor, cut: int) -> BestSort:
    """`sort_of` with gains along; the best order counts down to rank `cut`."""
    torch = require("torch", "neural")
    earned, discount = torch.empty_like(gain), torch.empty_like(gain)
    sort = _sorted(lists, values, gain, earned, discount, cut)
    return BestSort(*sort, discount, list_sums(earned, lists.offsets, inverted=True))


def _sorted(
    lists: DeviceLists, values: Tensor, along: Tensor, earned: Any = None, discount: Any = None, cut: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    torch = require("torch", "neural")
    order = torch.arange(lists.n_documents, device=values.device)
    ranked, moved = torch.empty_like(values), torch.empty_like(along)
    _order_kernel[lists.grid](
        values, along, lists.offsets, lists.tile_list, lists.tile_ends, order, ranked, moved,
        moved if earned is None else earned, moved if discount is None else discount, lists.n_lists, cut,
        BEST=earned is not None, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return order, ranked, moved


def list_sums(values: Tensor, offsets: Tensor, inverted: bool = False) -> Tensor:
    """The sum of each list; `inverted` one over it, and 0 for 0."""
    sums = values.new_empty(len(offsets) - 1)
    _sum_kernel[(len(offsets) - 1,)](values, offsets, sums, INVERTED=inverted, WIDTH=128)
    return sums


def list_max(values: Tensor, offsets: Tensor) -> Tensor:
    """The largest value of each list; minus infinity for an empty one."""
    highest = values.new_empty(len(offsets) - 1)
    _max_kernel[(len(offsets) - 1,)](values, offsets, highest, WIDTH=128)
    return highest


@jit
def tile_of(offsets, tile_ends, q, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Where the list of this tile starts, its length, and the tile's rows within it."""
    start = tl.load(offsets + q)
    n = (tl.load(offsets + q + 1) - start).to(tl.int32)
    tiles = (n + BLOCK - 1) // BLOCK
    first = (tl.program_id(0) - tl.load(tile_ends + q).to(tl.int32) + tiles) * BLOCK
    return start, n, first


@jit
def _order_kernel(  # type: ignore[no-untyped-def]
    values, along, offsets, tile_list, tile_ends, order, ranked, moved, earned, discount, n_lists, cut,
    BEST: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    given = tl.load(values + start + i, mask=i < n, other=0.0)
    gain = tl.load(along + start + i, mask=i < n, other=0.0)
    own = tl.where(given == given, given, float("-inf"))
    above, better = above_each(values, along, start, n, first, own, gain, i, BEST, BLOCK, WIDTH)
    place = start + above.to(tl.int32)
    tl.store(order + place, start + i, mask=i < n)
    tl.store(ranked + place, given, mask=i < n)
    tl.store(moved + place, gain, mask=i < n)
    if BEST:
        discounted = tl.where(better < cut, gain * discount_of(better + 1.0), 0.0)
        tl.store(earned + start + i, discounted, mask=i < n)
        tl.store(discount + start + i, discount_of(i.to(tl.float32) + 1.0), mask=i < n)


@jit
def _sum_kernel(  # type: ignore[no-untyped-def]
    values, offsets, sums, INVERTED: tl.constexpr, WIDTH: tl.constexpr
):
    q = tl.program_id(0)
    start, stop = tl.load(offsets + q), tl.load(offsets + q + 1)
    total = tl.zeros([WIDTH], values.dtype.element_ty)
    for low in range(start, stop, WIDTH):
        i = low + tl.arange(0, WIDTH)
        total += tl.load(values + i, mask=i < stop, other=0.0)
    summed = tl.sum(total, 0)
    if INVERTED:
        summed = tl.where(summed > 0, 1.0 / tl.where(summed > 0, summed, 1.0), 0.0)
    tl.store(sums + q, summed)


@jit
def _max_kernel(values, offsets, highest, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    q = tl.program_id(0)
    start, stop = tl.load(offsets + q), tl.load(offsets + q + 1)
    most = tl.full([WIDTH], float("-inf"), values.dtype.element_ty)
    for low in range(start, stop, WIDTH):
        i = low + tl.arange(0, WIDTH)
        most = tl.maximum(most, tl.load(values + i, mask=i < stop, other=float("-inf")))
    tl.store(highest + q, tl.max(most, 0))
