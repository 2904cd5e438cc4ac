"""A data set on the device of the network: lists in random order, in batches of whole lists."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rankloop._arrays import Ints, Singles
from rankloop.data import Pairs, RankingDataset
from rankloop.rankers.neural.streaming import streamed

__all__ = ["Batch", "DeviceLists", "at_once", "cuts", "rows_of"]


class Batch(NamedTuple):
    """Some lists as a loss takes them; `lists` counts those of all processes together."""

    Z: Tensor
    labels: Tensor
    offsets: Tensor
    weight: Tensor | None
    query_weight: Tensor | None
    pairs: Pairs | None
    lists: int


class DeviceLists:
    """A data set on a device, with its features transformed once if they fit, else batch by batch.

    Rows that do not fit are read from the host one batch ahead of the network.
    """

    def __init__(
        self,
        data: RankingDataset,
        transform: Callable[[Tensor], Tensor],
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.data, self.transform, self.device, self.dtype = data, transform, device, dtype
        self.offsets = _tensor(data.offsets, device)
        self.labels = _tensor(data.y, device)
        self.weight = None if data.item_weight is None else _tensor(data.item_weight, device)
        self.query_weight = None
        if data.query_weight is not None:  # of mean 1, so that the size of a step does not depend on it
            mean = max(float(data.query_weight.mean(dtype=np.float64)), 1e-30)
            self.query_weight = _tensor(data.query_weight.astype(np.float64) / mean, device)
        self.pairs = None if data.pairs is None else _PairsByList(data)
        self.host = rows_of(data.X)
        self.resident = self._transformed() if _fits(self.host, device) else None

    def epoch(
        self, order: Tensor, documents: int | None, lists: int | None, part: tuple[int, int] = (0, 1)
    ) -> Iterator[Batch]:
        """The lists in this order, in batches of about `documents` documents or of `lists` lists.

        `part` (i, n) gives the i-th of n parts of each batch, whole lists of about as many documents.
        """
        rows, ends, edges = self.rows_of_lists(order)
        spans, sizes = [], []
        for first, last in pairwise(cuts(edges, documents, lists)):
            own = cuts(edges[first : last + 1] - edges[first], parts=part[1])
            spans.append((first + own[part[0]], first + own[part[0] + 1]))
            sizes.append(last - first)
        taken = self._taken(rows, [(int(edges[first]), int(edges[last])) for first, last in spans])
        for (first, last), size, Z in zip(spans, sizes, taken, strict=True):
            chosen, own_rows = order[first:last], rows[edges[first] : edges[last]]
            yield Batch(
                Z=Z,
                labels=self.labels[own_rows],
                offsets=torch.cat((ends.new_zeros(1), ends[first:last] - int(edges[first]))),
                weight=None if self.weight is None else self.weight[own_rows],
                query_weight=None if self.query_weight is None else self.query_weight[chosen],
                pairs=None if self.pairs is None else self.pairs.of(chosen.cpu().numpy()),
                lists=size,
            )

    def captured_by(self, scorer: nn.Module, precision: str) -> Callable[..., Any] | None:
        """The `CapturedSteps` of a network that is made for such lists."""
        return None

    def rows_of_lists(self, order: Tensor) -> tuple[Tensor, Tensor, Ints]:
        """The rows of the lists in this order, where each list ends, and the same on the host from 0 on."""
        lengths = self.offsets.diff()[order]
        ends = lengths.cumsum(0)
        count = len(self.labels)
        rows = torch.repeat_interleave(self.offsets[order] - ends + lengths, lengths, output_size=count)
        rows += torch.arange(count, device=self.device)
        return rows, ends, np.concatenate(([0], ends.cpu().numpy()))

    def in_order(self) -> Iterator[tuple[Tensor, Tensor]]:
        """All rows in order, several whole lists at a time, with their offsets."""
        edges = self.data.offsets
        for first, last in pairwise(cuts(edges, at_once(self.device))):
            rows = slice(int(edges[first]), int(edges[last]))
            if self.resident is None:
                Z = self.transform(self.host[rows].to(self.device)).to(self.dtype)
            else:
                Z = self.resident[rows]
            yield Z, self.offsets[first : last + 1] - int(edges[first])

    def _transformed(self) -> Tensor:
        """All rows, transformed, on the device."""
        made = None
        for start in range(0, len(self.host), 65_536):
            Z = self.transform(self.host[start : start + 65_536].to(self.device)).to(self.dtype)
            if made is None:
                made = torch.empty(len(self.host), Z.shape[1], dtype=self.dtype, device=self.device)
            made[start : start + len(Z)] = Z
        return torch.empty(0, 0, device=self.device) if made is None else made

    def streamed(self, rows: Tensor, edges: Sequence[tuple[int, int]]) -> Iterator[Tensor]:
        """Untransformed rows from the host, batch by batch, from each first to each last edge."""
        there = torch.empty_like(rows, device="cpu", pin_memory=self.device.type == "cuda").copy_(rows)
        return streamed(self.host, [there[low:high] for low, high in edges], self.device)

    def _taken(self, rows: Tensor, edges: Sequence[tuple[int, int]]) -> Iterator[Tensor]:
        if self.resident is not None:
            for low, high in edges:
                yield self.resident.index_select(0, rows[low:high])
            return
        for read in self.streamed(rows, edges):
            yield self.transform(read).to(self.dtype)


def at_once(device: torch.device) -> int:
    """Documents to score at a time: what fits the cache of a CPU, or fills a GPU."""
    return 2_048 if device.type == "cpu" else 65_536


def rows_of(X: Singles) -> Tensor:
    """The rows as a tensor that shares their memory; it must not be written to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(X)


def cuts(edges: Ints, documents: int | None = None, lists: int | None = None, *, parts: int = 0) -> list[int]:
    """Where to cut lists into batches of nearly equal size: `edges` counts the documents before each list.

    >>> cuts(np.array([0, 10, 20, 30, 40]), documents=15)
    [0, 1, 3, 4]
    >>> cuts(np.array([0, 10, 20, 30, 40]), lists=3)
    [0, 3, 4]
    """
    number = len(edges) - 1
    if lists is not None:
        return [*range(0, number, lists), number]
    if parts:  # exactly this number; some may be empty
        wanted = np.linspace(0, edges[-1], parts + 1)[1:-1]
        return [0, *np.searchsorted(edges, wanted).tolist(), number]
    batches = max(1, -(-int(edges[-1]) // (documents or 1)))
    wanted = np.linspace(0, edges[-1], batches + 1)[1:-1]
    nearest = np.searchsorted((edges[1:] + edges[:-1]) / 2, wanted)
    return sorted({0, *nearest.tolist(), number})


class _PairsByList:
    """Explicit pairs, found by list."""

    def __init__(self, data: RankingDataset) -> None:
        assert data.pairs is not None
        query = np.searchsorted(data.offsets, data.pairs.better, "right") - 1
        self.pairs, self.offsets, self.lengths = data.pairs, data.offsets, data.lengths
        self.order = np.argsort(query, kind="stable")
        self.edges = np.searchsorted(query[self.order], np.arange(data.n_queries + 1))

    def of(self, lists: Ints) -> Pairs:
        """The pairs of these lists, with the row numbers of the concatenated lists."""
        counts = np.diff(self.edges)[lists]
        at = np.repeat(self.edges[lists] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        chosen = self.order[at]
        moved = np.repeat(np.cumsum(self.lengths[lists]) - self.lengths[lists] - self.offsets[lists], counts)
        pairs = self.pairs
        return Pairs(
            pairs.better[chosen] + moved,
            pairs.worse[chosen] + moved,
            pairs.probability[chosen],
            pairs.weight[chosen],
        )


def _tensor(values: NDArray[np.generic], device: torch.device) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), device=device)


def _fits(rows: Tensor, device: torch.device) -> bool:
    """Whether a transformed copy takes less than a third of the free memory."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    else:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 8 << 30
    return rows.numel() * rows.element_size() < free / 3
