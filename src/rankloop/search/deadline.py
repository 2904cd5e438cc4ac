"""The time that a search may take, and a way to end it from another thread."""

import math
import time
from collections.abc import Callable

__all__ = ["Deadline", "DeadlineExceeded"]


class DeadlineExceeded(Exception):  # noqa: N818 - what happened, not a mistake of anybody
    """A search was cancelled: its time is over, or nobody waits for it any more."""


class Deadline:
    """The time by which a search must be done, from now on; `cancel` ends it at once, from any thread.

    A query carries it (`Query.deadline`); stages check it between pieces of work of some milliseconds. At
    each check `give_way` is called first, if it is set: a service has others go first there.

    >>> deadline = Deadline(seconds=5)
    >>> deadline.check()
    >>> deadline.cancel()
    >>> deadline.check()
    Traceback (most recent call last):
    rankloop.search.deadline.DeadlineExceeded: the search was cancelled
    """

    def __init__(self, seconds: float = math.inf) -> None:
        if not seconds > 0:
            raise ValueError(f"a deadline is a number of seconds above 0, got {seconds}")
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancelled = False
        self.give_way: Callable[[], object] | None = None

    def __repr__(self) -> str:
        return f"Deadline({self.left:.3g} of {self.seconds:g} s left)"

    @property
    def left(self) -> float:
        """The seconds that are left; 0 when it has passed or was cancelled."""
        return 0.0 if self._cancelled else max(0.0, self._end - time.monotonic())

    def cancel(self) -> None:
        """End the search at its next check, as when the client is gone."""
        self._cancelled = True

    def check(self) -> None:
        """Go on, or raise `DeadlineExceeded`."""
        if self.give_way is not None:
            self.give_way()
        if self._cancelled:
            raise DeadlineExceeded("the search was cancelled")
        if time.monotonic() >= self._end:
            raise DeadlineExceeded(
                f"the search took more than {self.seconds:g} seconds; search for fewer or longer words"
            )
