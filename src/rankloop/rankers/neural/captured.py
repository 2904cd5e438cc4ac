"""Training steps as CUDA graphs: write a batch to fixed buffers, then one launch."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rankloop.losses import Loss
from rankloop.rankers.neural.batches import Batch, DeviceLists, cuts
from rankloop.rankers.neural.feed import feed

__all__ = ["CapturedSteps", "Replayed", "Work", "can_capture", "nothing_freed", "rounded"]

_ROUND_ROWS, _ROUND_LISTS = 512, 32  # batch sizes are rounded up, so that few graphs are needed


def can_capture(lists: DeviceLists, loss: Loss, optimizer: torch.optim.Optimizer) -> bool:
    """Whether a step never synchronises with the host: loss and optimizer run on the device.

    The network must score documents one by one, since the rows that pad a batch belong to no list.
    """
    if lists.device.type != "cuda" or lists.pairs is not None:
        return False
    from rankloop.losses.cuda.registry import can_capture as loss_can

    return isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW) and loss_can(loss, lists.labels)


class Work(NamedTuple):
    """What is trained on which lists; `score` gives the scores of a batch."""

    lists: DeviceLists
    loss: Loss
    optimizer: torch.optim.Optimizer
    score: Callable[[Batch], Tensor]


class CapturedSteps:
    """Epochs in which each step is one replay of a graph.

    For each new batch size the first step runs without a graph, which
    also compiles the kernels; the second step is captured.
    """

    def __init__(self, work: Work) -> None:
        self.lists, self.loss, self.optimizer, self.score = work
        self.stream = torch.cuda.Stream(work.lists.device)  # type: ignore[no-untyped-call]  # of torch
        self.total = torch.zeros((), dtype=torch.float64, device=work.lists.device)
        self.sizes: dict[tuple[int, int], _Size] = {}
        self.pool = torch.cuda.graph_pool_handle()  # graphs run one after the other: all take the same memory

    def epoch(
        self, order: Tensor, documents: int | None, per_batch: int | None, before: Callable[[float], None]
    ) -> Tensor:
        """One pass over the lists in this order; the sum of their losses.

        `before` is called at each step with the lists that were seen before the middle of its batch.
        """
        self.stream.wait_stream(torch.cuda.current_stream(self.lists.device))
        with torch.cuda.stream(self.stream):
            self.total.zero_()
            self._pass(order, documents, per_batch, before)
        torch.cuda.current_stream(self.lists.device).wait_stream(self.stream)
        return self.total

    def taken(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The features and labels of rows that are on the device."""
        assert self.lists.resident is not None
        return self.lists.resident.index_select(0, rows), self.lists.labels[rows]

    def learn(self, batch: Batch, count: Tensor | int) -> None:
        """The work of one step on a batch of `count` lists: nothing in it waits for the host."""
        from rankloop.losses.cuda.registry import device_loss

        scores = self.score(batch)
        made = device_loss(
            self.loss,
            scores,
            batch.labels,
            batch.offsets,
            weight=batch.weight,
            query_weight=batch.query_weight,
            curved=False,
            checked=False,
        )
        assert made is not None
        torch.autograd.backward(scores, (made.gradient / count).to(scores.dtype))
        self.optimizer.step()
        self.total += made.value.sum()

    def _pass(
        self, order: Tensor, documents: int | None, per_batch: int | None, before: Callable[[float], None]
    ) -> None:
        rows, ends, edges = self.lists.rows_of_lists(order)
        spans = list(pairwise(cuts(edges, documents, per_batch)))
        ends_of = list(pairwise(edges[[0, *(last for _, last in spans)]].tolist()))
        # Padding of a batch: rows that belong to none of its lists, and lists without rows.
        most = max(high - low for low, high in ends_of)
        rows = torch.cat((rows, rows.new_zeros(rounded(most, _ROUND_ROWS))))
        widest = rounded(max(last - first for first, last in spans), _ROUND_LISTS)
        starts = torch.cat((ends.new_zeros(1), ends, ends[-1:].expand(widest)))
        chosen = torch.cat((order, order.new_zeros(widest)))
        read = repeat(None) if self.lists.resident is not None else self.lists.streamed(rows, ends_of)
        for (first, last), (low, high), given in zip(spans, ends_of, read, strict=False):
            key = (rounded(high - low, _ROUND_ROWS), rounded(last - first, _ROUND_LISTS))
            if key not in self.sizes:
                self.sizes[key] = _Size(*key, self)
            size = self.sizes[key]
            if given is not None:
                size.given[: high - low].copy_(given)
            before((first + last) / 2)
            if self.lists.query_weight is not None:
                size.chosen.copy_(chosen[first : first + len(size.chosen)])
            feed(rows, starts, low, first, high - low, last - first, size.fed)
            size.run()


@contextmanager
def nothing_freed() -> Iterator[None]:
    """No search for garbage meanwhile: a graph of an earlier training that is freed would end the capture."""
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()


class Replayed:
    """A step that runs as it is the first time, which compiles its kernels, and then as a CUDA graph."""

    def __init__(self, work: Callable[[], None], steps: CapturedSteps, pool: Any) -> None:
        self.work, self.steps, self.pool, self.seen = work, steps, pool, False
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self.graph is None and self.seen:
            self.steps.optimizer.zero_grad(set_to_none=True)
            graph = torch.cuda.CUDAGraph()
            # Another thread may send the next rows meanwhile, which is not part of the graph.
            with (
                nothing_freed(),
                torch.cuda.graph(
                    graph, pool=self.pool, stream=self.steps.stream, capture_error_mode="thread_local"
                ),
            ):
                self.work()
            self.graph = graph
        if self.graph is not None:
            self.graph.replay()
        else:
            self.steps.optimizer.zero_grad(set_to_none=True)
            self.work()
        self.seen = True


class _Size:
    """The buffers and the graph of one batch size."""

    def __init__(self, n_rows: int, n_lists: int, steps: CapturedSteps) -> None:
        device = steps.lists.device
        self.steps = steps
        self.rows = torch.zeros(n_rows, dtype=torch.int64, device=device)
        self.offsets = torch.zeros(n_lists + 1, dtype=torch.int64, device=device)
        self.chosen = torch.zeros(n_lists, dtype=torch.int64, device=device)
        self.count = torch.ones((), device=device)
        self.fed = (self.rows, self.offsets, self.count)
        here = 0 if steps.lists.resident is not None else n_rows
        self.given = torch.zeros(here, steps.lists.host.shape[1], device=device)  # rows from the host
        self.run = Replayed(self._work, steps, steps.pool)

    def _work(self) -> None:
        lists = self.steps.lists
        if lists.resident is None:
            Z, labels = lists.transform(self.given).to(lists.dtype), lists.labels[self.rows]
        else:
            Z, labels = self.steps.taken(self.rows)
        batch = Batch(
            Z=Z,
            labels=labels,
            offsets=self.offsets,
            weight=None if lists.weight is None else lists.weight[self.rows],
            query_weight=None if lists.query_weight is None else lists.query_weight[self.chosen],
            pairs=None,
            lists=len(self.chosen),
        )
        self.steps.learn(batch, self.count)


def rounded(size: int, step: int) -> int:
    return max(step, -(-size // step) * step)
