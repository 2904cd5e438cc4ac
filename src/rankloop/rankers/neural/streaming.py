"""Rows that stay on the host: the next batches are gathered and sent during the current step."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from queue import SimpleQueue

import numpy as np
import torch
from torch import Tensor

__all__ = ["streamed"]

_THREADS = min(6, os.cpu_count() or 1)  # each gathers a batch of its own
_PINNED = 2**29  # bytes of all batches that are gathered; two batches take what they need


def streamed(host: Tensor, wanted: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
    """The rows of each batch on the device, in this order; `wanted` are row numbers on the host."""
    most = max(map(len, wanted), default=0)
    bytes_ = max(1, most * host.shape[1] * host.element_size())
    ahead = max(1, min(_THREADS, _PINNED // bytes_ - 1)) if device.type == "cuda" else 1
    with ThreadPoolExecutor(ahead) as pool:
        sender = _PinnedSender(host, most, device, ahead + 1) if device.type == "cuda" else _Sender(host)
        waiting = iter(wanted)
        coming = deque(pool.submit(sender.send, rows) for rows in islice(waiting, ahead))
        while coming:
            sent, event = coming.popleft().result()
            coming.extend(pool.submit(sender.send, rows) for rows in islice(waiting, 1))
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
    """Rows for a GPU: each thread gathers a batch into a pinned buffer, which an own stream sends."""

    def __init__(self, host: Tensor, most: int, device: torch.device, buffers: int) -> None:
        super().__init__(host)
        self.device, self.stream = device, torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # of torch
        self.free: SimpleQueue[tuple[Tensor, torch.cuda.Event | None]] = SimpleQueue()
        for _ in range(buffers):
            self.free.put((torch.empty(most, host.shape[1], dtype=host.dtype, pin_memory=True), None))

    def send(self, rows: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
        buffer, before = self.free.get()
        if before is not None:
            before.synchronize()  # what the buffer held has arrived
        out = buffer[: len(rows)]
        # This releases the interpreter lock; mode "clip" writes without a buffer in between.
        np.take(self.host.numpy(), rows.numpy(), axis=0, out=out.numpy(), mode="clip")
        with torch.cuda.stream(self.stream):
            sent = out.to(self.device, non_blocking=True)
            event = self.stream.record_event()
        self.free.put((buffer, event))
        return sent, event
