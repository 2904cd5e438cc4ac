"""Rows that stay on the host: the next batch is gathered and sent while the network works on this one."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

__all__ = ["streamed"]


def streamed(host: Tensor, wanted: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
    """The rows of each batch on the device, one batch ahead; `wanted` are numbers of rows on the host."""
    most = max(map(len, wanted), default=0)
    road = _PinnedRoad(host, most, device) if device.type == "cuda" else _Road(host)
    with ThreadPoolExecutor(1) as reader:
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
    """Rows for a GPU: through two pinned buffers in turn, on a stream of their own."""

    def __init__(self, host: Tensor, most: int, device: torch.device) -> None:
        super().__init__(host)
        self.device = device
        self.buffers = [torch.empty(most, host.shape[1], dtype=host.dtype, pin_memory=True) for _ in range(2)]
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.under_way: list[torch.cuda.Event] = []

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        if len(self.under_way) == len(self.buffers):
            self.under_way.pop(0).synchronize()  # then its buffer is free
        buffer = self.buffers[0][: len(rows)]
        self.buffers.reverse()
        torch.index_select(self.host, 0, rows, out=buffer)
        with torch.cuda.stream(self.stream):
            sent = buffer.to(self.device, non_blocking=True)
            event = self.stream.record_event()
        self.under_way.append(event)
        return sent, event
