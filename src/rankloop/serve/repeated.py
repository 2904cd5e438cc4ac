"""A thread that does something again and again, until it is stopped."""

import threading
from abc import ABC, abstractmethod

__all__ = ["Repeated"]

LAST = 10.0  # seconds that a stop waits for the turn under way


class Repeated(ABC):
    """Takes a turn every few seconds in a thread of its own; a turn deals with its errors itself."""

    def __init__(self, name: str, seconds: float) -> None:
        self.seconds = seconds
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name=name, daemon=True)

    @abstractmethod
    def turn(self) -> None:
        """What is done again and again."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the turn under way is finished first, or sees that `stopped` is set."""
        self.stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=LAST)

    def _go_on(self) -> None:
        while not self.stopped.wait(self.seconds):
            self.turn()
