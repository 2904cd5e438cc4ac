"""A version that ranks pages that are not shown, and how far it agrees with what was shown."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Shadow"]

WAITING = 64  # pages; more are dropped: a sample is enough


class Shadow:
    """Ranks shown pages again with the shadow version, in a thread of its own, and averages the agreement."""

    def __init__(self) -> None:
        self._pages: queue.Queue[tuple[str, Sequence[str], Callable[[], Sequence[str]]] | None] = queue.Queue(
            WAITING
        )
        self._sums: dict[str, dict[str, float]] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="rankloop-shadow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer(self, version: str, shown: Sequence[str], rank: Callable[[], Sequence[str]]) -> bool:
        """Let the shadow rank a page too, if it has time."""
        try:
            self._pages.put_nowait((version, shown, rank))
        except queue.Full:
            return False
        return True

    def agreement(self, version: str) -> dict[str, float] | None:
        """Means over pages: share of documents on both, same document on top, pages that failed."""
        with self._lock:
            sums = self._sums.get(version)
            if sums is None:
                return None
            pages = max(sums["pages"], 1.0)
            return {
                "pages": sums["pages"],
                "overlap": sums["overlap"] / pages,
                "same_first": sums["same_first"] / pages,
                "failed": sums["failed"],
            }

    def finish(self) -> None:
        """Wait for the pages that were offered."""
        self._pages.join()

    def close(self) -> None:
        if self._thread.ident is not None:
            self._pages.put(None)
            self._thread.join(timeout=10)

    def _work(self) -> None:
        while (page := self._pages.get()) is not None:
            version, shown, rank = page
            try:
                self._add(version, _agreement(shown, rank()))
            except (ValueError, OSError, LookupError, ArithmeticError):
                self._add(version, {"failed": 1.0})
            finally:
                self._pages.task_done()
        self._pages.task_done()

    def _add(self, version: str, more: dict[str, Any]) -> None:
        with self._lock:
            sums = self._sums.setdefault(
                version, {"pages": 0.0, "overlap": 0.0, "same_first": 0.0, "failed": 0.0}
            )
            for name, value in more.items():
                sums[name] += value


def _agreement(shown: Sequence[str], other: Sequence[str]) -> dict[str, float]:
    """How alike two pages are.

    >>> _agreement(["a", "b"], ["a", "c"])
    {'pages': 1.0, 'overlap': 0.5, 'same_first': 1.0}
    """
    if not shown and not other:
        return {"pages": 1.0, "overlap": 1.0, "same_first": 1.0}
    same = len(set(shown) & set(other)) / max(len(shown), len(other))
    return {"pages": 1.0, "overlap": same, "same_first": float(list(shown[:1]) == list(other[:1]))}
