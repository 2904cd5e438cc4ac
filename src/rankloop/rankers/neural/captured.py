"""Training steps as CUDA graphs: one launch each, and nothing else in between."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
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


_Pass = Callable[[Callable[[float], None]], None]


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
        device = work.lists.device
        self.stream, self.ahead = (torch.cuda.Stream(device) for _ in range(2))  # type: ignore[no-untyped-call]  # of torch
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.sizes: dict[tuple[int, int], _Size] = {}
        self.pool = torch.cuda.graph_pool_handle()  # graphs run one after the other: all take the same memory
        self.following: tuple[int, _Pass] | None = None
        self.epoch_at: tuple[Tensor, Tensor, Tensor, Tensor] | None = None  # what graphs read

    def epoch(
        self,
        number: int,
        order_of: Callable[[int], Tensor],
        documents: int | None,
        per_batch: int | None,
        before: Callable[[float], None],
    ) -> Tensor:
        """One pass over the lists in the order of this epoch; the sum of their losses.

        `before` is called at each step with the lists that were seen before the middle of its batch. While
        the device works, the host prepares the next epoch.
        """
        current = torch.cuda.current_stream(self.lists.device)
        if self.following is None or self.following[0] != number:
            self.ahead.wait_stream(current)
            self._prepare(number, order_of, documents, per_batch)
        assert self.following is not None
        self.stream.wait_stream(current)
        self.stream.wait_stream(self.ahead)
        with torch.cuda.stream(self.stream):
            self.total.zero_()
            self.following[1](before)
        self._prepare(number + 1, order_of, documents, per_batch)
        current.wait_stream(self.stream)
        return self.total

    def _prepare(
        self, number: int, order_of: Callable[[int], Tensor], documents: int | None, per_batch: int | None
    ) -> None:
        with torch.cuda.stream(self.ahead):
            self.following = number, self._prepared(order_of(number), documents, per_batch)

    def room(self, n_rows: int) -> int:
        """The rows of a step for that many; no fewer for more."""
        return rounded(n_rows, _ROUND_ROWS)

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

    def _prepared(self, order: Tensor, documents: int | None, per_batch: int | None) -> _Pass:
        """What is left to do of an epoch."""
        rows, ends, edges = self.lists.rows_of_lists(order)
        spans = list(pairwise(cuts(edges, documents, per_batch)))
        table = np.array([(edges[a], a, edges[b] - edges[a], b - a) for a, b in spans])
        given = (rows, torch.cat((ends.new_zeros(1), ends)), torch.from_numpy(table).to(rows.device), order)
        for part in given:
            part.record_stream(self.stream)
        read: Iterator[Tensor | None] = repeat(None)
        if self.lists.resident is None:
            read = self.lists.streamed(rows, [(low, low + n) for low, _, n, _ in table.tolist()])
        return partial(self._pass, given, table.tolist(), read)

    def _pass(
        self,
        given: tuple[Tensor, Tensor, Tensor, Tensor],
        table: list[list[int]],
        read: Iterator[Tensor | None],
        before: Callable[[float], None],
    ) -> None:
        rows, starts, batches, order = given
        if self.epoch_at is None:  # room for any epoch
            most, turn = batches.new_empty(len(order), 4), batches.new_zeros(())
            self.epoch_at = (torch.empty_like(rows), torch.empty_like(starts), most, turn)
        self.epoch_at[0].copy_(rows)
        self.epoch_at[1].copy_(starts)
        self.epoch_at[2][: len(batches)] = batches
        self.epoch_at[3].zero_()
        # Padding of a batch: lists without rows.
        chosen = torch.cat((order, order.new_zeros(rounded(max(n for *_, n in table), _ROUND_LISTS))))
        for (_, first, n_rows, n_lists), sent in zip(table, read, strict=False):
            key = (self.room(n_rows), rounded(n_lists, _ROUND_LISTS))
            if key not in self.sizes:
                self.sizes[key] = _Size(*key, self)
            size = self.sizes[key]
            if sent is not None:
                size.given[:n_rows].copy_(sent)
            before(first + n_lists / 2)
            if self.lists.query_weight is not None:
                size.chosen.copy_(chosen[first : first + len(size.chosen)])
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
        assert self.steps.epoch_at is not None
        feed(self.steps.epoch_at, self.fed)
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
