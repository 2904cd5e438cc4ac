"""Results in the order of their inputs, whichever worker finishes first."""

from collections.abc import Callable
from typing import Any

__all__ = ["InOrder"]


class InOrder:
    """Passes results on in the order of their inputs; only those that come early are held.

    >>> taken = []
    >>> done = InOrder(taken.append)
    >>> done(1, "b"), done(0, "a"), taken
    (None, None, ['a', 'b'])
    """

    def __init__(self, take: Callable[[Any], None]) -> None:
        self._take = take
        self._early: dict[int, Any] = {}
        self._next = 0

    def __call__(self, index: int, result: Any) -> None:
        self._early[index] = result
        while self._next in self._early:
            self._take(self._early.pop(self._next))
            self._next += 1
