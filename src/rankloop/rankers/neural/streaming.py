"""Rows that stay on the host: the next batch is gathered and sent during the current step."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

__all__ = ["streamed"]

_GATHERERS = min(8, os.cpu_count() or 1)  # threads


def streamed(host: Tensor, wanted: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
    """The rows of each batch on the device, one batch ahead; `wanted` are row numbers on the host."""
    most = max(map(len, wanted), default=0)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(_GATHERERS) as pool:
        sender = _PinnedSender(host, most, device, pool) if device.type == "cuda" else _Sender(host)
        coming = [reader.submit(sender.send, rows) for rows in wanted[:1]]
        for following in [*wanted[1:], None]:
            sent, event = coming.pop().result()
            if following is not None:
                coming.append(reader.submit(sender.send, following))
            if event is not None:
                current = torch.cuda.current_stream(device)
                current.wait_event(event)
                sent.record_stream(current)
            yield sent


class _Sender:
    """Rows for a network on the CPU."""

    def __init__(self, host: Tensor) -> None:
        self.host = host

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        """The rows, and the event to wait for before they are used."""
        return self.host.index_select(0, rows), None


class _PinnedSender(_Sender):
    """Rows for a GPU: gathered by several threads into two alternating pinned buffers, on an own stream."""

    def __init__(self, host: Tensor, most: int, device: torch.device, pool: ThreadPoolExecutor) -> None:
        super().__init__(host)
        self.device, self.pool = device, pool
        self.buffers = [torch.empty(most, host.shape[1], dtype=host.dtype, pin_memory=True) for _ in range(2)]
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # of torch
        self.in_flight: list[torch.cuda.Event] = []

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        if len(self.in_flight) == len(self.buffers):
            self.in_flight.pop(0).synchronize()  # then its buffer is free
        buffer = self.buffers[0][: len(rows)]
        self.buffers.reverse()
        self._gather(rows, buffer)
        with torch.cuda.stream(self.stream):
            sent = buffer.to(self.device, non_blocking=True)
            event = self.stream.record_event()
        self.in_flight.append(event)
        return sent, event

    def _gather(self, rows: Tensor, buffer: Tensor) -> None:
        """numpy.take releases the interpreter lock, so threads help; mode "clip" writes without a buffer."""
        host, wanted, out = self.host.numpy(), rows.numpy(), buffer.numpy()

        def take(part: slice) -> None:
            np.take(host, wanted[part], axis=0, out=out[part], mode="clip")

        step = max(1024, -(-len(rows) // _GATHERERS))
        list(self.pool.map(take, (slice(low, low + step) for low in range(0, len(rows), step))))
