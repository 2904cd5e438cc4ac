"""A thread that makes the comparisons whose time has come."""

import time
from contextlib import suppress

from rankloop.engines import EngineAway
from rankloop.search import Deadline
from rankloop.search.deadline import DeadlineExceeded
from rankloop.serve.desk.query_sets import query_set
from rankloop.serve.desk.rankings import Rankings
from rankloop.serve.desk.scheduled import Scheduled, claim_due, keep_result, versions_of
from rankloop.serve.desk.set_comparison import SetComparison, compare_over_set
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.models.registry import Registry
from rankloop.serve.repeated import Repeated

__all__ = ["Comparing"]

SECONDS = 5.0  # between looks
AT_ONCE = 0.5  # seconds in which queries are ranked before people's searches get their turn
LONGEST = 600.0  # seconds of a comparison


class Comparing(Repeated):
    """Looks for comparisons that are due; of several services on a store one makes each."""

    def __init__(self, store: Store, registry: Registry, rankings: Rankings) -> None:
        super().__init__("rankloop-compare", SECONDS)
        self.store, self.registry, self.rankings = store, registry, rankings

    def turn(self) -> None:
        """Make all comparisons that are due; one that is under way at the end is made again later."""
        with suppress(StoreAway, OSError):
            while self.look() and not self.stopped.is_set():
                pass

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
        if not self.stopped.is_set():
            keep_result(self.store, one, found, trouble, now)
        return True

    def _made(self, one: Scheduled) -> SetComparison:
        a, b = versions_of(one, self.registry)
        chosen, end = query_set(self.store, one.set), time.monotonic() + LONGEST
        while True:
            deadline = Deadline(AT_ONCE)
            found = compare_over_set(self.store, self.registry, self.rankings, chosen, a, b, deadline)
            if not found.waiting or self.stopped.wait(AT_ONCE / 5):
                return found
            if time.monotonic() > end:
                raise ValueError(f"{found.waiting} queries were not ranked within {LONGEST:.0f} seconds")
