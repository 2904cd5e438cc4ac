"""A thread that makes the comparisons whose time has come."""

import threading
import time

from rankloop.engines import EngineAway
from rankloop.search import Deadline
from rankloop.search.deadline import DeadlineExceeded
from rankloop.serve.desk.query_sets import query_set
from rankloop.serve.desk.rankings import Rankings
from rankloop.serve.desk.scheduled import Scheduled, claim_due, keep_result, versions_of
from rankloop.serve.desk.set_comparison import SetComparison, compare_over_set
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.models.registry import Registry

__all__ = ["Comparing"]

SECONDS = 5.0  # between looks
AT_ONCE = 0.5  # seconds in which queries are ranked before people's searches get their turn
LONGEST = 600.0  # seconds of a comparison


class Comparing:
    """Looks for comparisons that are due; of several services on a store one makes each."""

    def __init__(self, store: Store, registry: Registry, rankings: Rankings) -> None:
        self.store, self.registry, self.rankings = store, registry, rankings
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="rankloop-compare", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End; a comparison under way is made again later."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def look(self, now: float | None = None) -> bool:
        """Make one comparison that is due; False where there is none."""
        one = claim_due(self.store, now)
        if one is None:
            return False
        try:
            found: SetComparison | None = self._made(one)
            trouble = ""
        except (ValueError, LookupError, EngineAway, DeadlineExceeded) as error:
            found, trouble = None, str(error.args[0] if error.args else error)
        if not self._stopped.is_set():
            keep_result(self.store, one, found, trouble, now)
        return True

    def _made(self, one: Scheduled) -> SetComparison:
        a, b = versions_of(one, self.registry)
        chosen, end = query_set(self.store, one.set), time.monotonic() + LONGEST
        while True:
            deadline = Deadline(AT_ONCE)
            found = compare_over_set(self.store, self.registry, self.rankings, chosen, a, b, deadline)
            if not found.waiting or self._stopped.wait(AT_ONCE / 5):
                return found
            if time.monotonic() > end:
                raise ValueError(f"{found.waiting} queries were not ranked within {LONGEST:.0f} seconds")

    def _go_on(self) -> None:
        while not self._stopped.wait(SECONDS):
            try:
                while self.look() and not self._stopped.is_set():
                    pass
            except (StoreAway, OSError):
                continue
