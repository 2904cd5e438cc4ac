"""Rows that stay on the host: the next batch is gathered and sent while the network works on this one."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

__all__ = ["streamed"]

_HANDS = min(8, os.cpu_count() or 1)  # threads that gather


def streamed(host: Tensor, wanted: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
    """The rows of each batch on the device, one batch ahead; `wanted` are numbers of rows on the host."""
    most = max(map(len, wanted), default=0)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(_HANDS) as hands:
        road = _PinnedRoad(host, most, device, hands) if device.type == "cuda" else _Road(host)
        coming = [reader.submit(road.send, rows) for rows in wanted[:1]]
        for following in [*wanted[1:], None]:
            sent, event = coming.pop().result()
            if following is not None:
                coming.append(reader.submit(road.send, following))
            if event is not None:
                current = torch.cuda.current_stream(device)
                current.wait_event(event)
                sent.record_stream(current)
            yield sent


class _Road:
    """Rows for a network on the CPU."""

    def __init__(self, host: Tensor) -> None:
        self.host = host

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        """The rows, and what to wait for before they are used."""
        return self.host.index_select(0, rows), None


class _PinnedRoad(_Road):
    """Rows for a GPU: gathered by a few threads into two pinned buffers in turn, on a stream of their own."""

    def __init__(self, host: Tensor, most: int, device: torch.device, hands: ThreadPoolExecutor) -> None:
        super().__init__(host)
        self.device, self.hands = device, hands
        self.buffers = [torch.empty(most, host.shape[1], dtype=host.dtype, pin_memory=True) for _ in range(2)]
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.under_way: list[torch.cuda.Event] = []

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        if len(self.under_way) == len(self.buffers):
            self.under_way.pop(0).synchronize()  # then its buffer is free
        buffer = self.buffers[0][: len(rows)]
        self.buffers.reverse()
        self._gather(rows, buffer)
        with torch.cuda.stream(self.stream):
            sent = buffer.to(self.device, non_blocking=True)
            event = self.stream.record_event()
        self.under_way.append(event)
        return sent, event

    def _gather(self, rows: Tensor, buffer: Tensor) -> None:
        """numpy copies rows without holding the interpreter, so that threads help; "clip" writes in place."""
        host, wanted, out = self.host.numpy(), rows.numpy(), buffer.numpy()

        def take(part: slice) -> None:
            np.take(host, wanted[part], axis=0, out=out[part], mode="clip")

        step = max(1024, -(-len(rows) // _HANDS))
        list(self.hands.map(take, (slice(low, low + step) for low in range(0, len(rows), step))))
