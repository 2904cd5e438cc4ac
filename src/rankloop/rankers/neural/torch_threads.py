"""How many threads torch uses, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

__all__ = ["torch_threads"]

_MANY = 2_048  # rows that are worth a second thread
_lock = Lock()
_inside: list[int] = []  # what torch used before each of those who are in here now


@contextmanager
def torch_threads(threads: int | None, rows: int) -> Iterator[None]:
    """So many threads, or torch's own number for many rows and one for few: waking others costs more.

    The number belongs to the process: where calls overlap, the last to leave restores what the first found.

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
