"""The time that is left, and how to stop within it."""

import time
from collections.abc import Callable

__all__ = ["Clock", "now"]

now = time.monotonic  # a benchmark on a shared machine counts processor time in its place


class Clock:
    """Counts down from a number of seconds; parts of the time can be given to single fits."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.start = now()
        self.interrupted = False
        self.kept = 0.0

    @property
    def spent(self) -> float:
        return now() - self.start

    @property
    def left(self) -> float:
        return 0.0 if self.interrupted else max(self.seconds - self.kept - self.spent, 0.0)

    def keep(self, seconds: float) -> None:
        """So many of the last seconds are no longer `left`: something at the end takes them."""
        self.kept = seconds

    def interrupt(self) -> None:
        """No time is left from now on."""
        self.interrupted = True

    def until(self, share: float) -> float:
        """The seconds until this share of all the time is spent."""
        return 0.0 if self.interrupted else max(share * self.seconds - self.spent, 0.0)

    def stop_after(self, seconds: float) -> Callable[[object], bool]:
        """A callback for growing trees, which ends the training after so many seconds from now."""
        end = now() + seconds
        return lambda _: now() >= end
