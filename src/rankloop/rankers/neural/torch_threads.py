"""The number of threads of torch within a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

__all__ = ["torch_threads"]

_MANY = 2_048  # rows from which a second thread pays
_lock = Lock()
_inside: list[int] = []  # the number before each block that is open now


@contextmanager
def torch_threads(threads: int | None, rows: int) -> Iterator[None]:
    """Run with `threads`; by default torch's own number for many rows and one for few rows.

    The number is global to the process: of overlapping blocks, the last one to end restores it.

    >>> before = torch.get_num_threads()
    >>> with torch_threads(None, rows=1):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    with _lock:
        _inside.append(_inside[0] if _inside else torch.get_num_threads())
        torch.set_num_threads(threads or (_inside[0] if rows >= _MANY else 1))
    try:
        yield
    finally:
        with _lock:
            usual = _inside.pop()
            if not _inside:
                torch.set_num_threads(usual)
