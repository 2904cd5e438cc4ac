"""What versions show for many queries, kept in memory; nothing is recorded."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankloop.search import Deadline
from rankloop.serve.answer import query_of, run_stages

if TYPE_CHECKING:
    from rankloop.search import Searchable
    from rankloop.serve.models.live import Model

__all__ = ["DEPTH", "LONGEST", "Rankings"]

DEPTH = 10  # documents of a page
LONGEST = 50  # documents of each ranking
KEPT = 10_000  # rankings in memory


class Rankings:
    """The first documents of each version for each query; for a new index or version they are ranked again.

    `model` gives a version in memory; a query may take `seconds`.
    """

    def __init__(self, index: "Searchable", model: "Callable[[str], Model]", seconds: float) -> None:
        self.index, self.model, self.seconds = index, model, seconds
        self._kept: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def top(self, version: str, query: str, depth: int = DEPTH) -> tuple[str, ...]:
        """The ids of the first documents, `LONGEST` at most."""
        model = self.model(version)
        key = model.fingerprint(self.index.generation), query
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][:depth]
        asked = replace(query_of(query, self.index, {}), deadline=Deadline(self.seconds))
        found = run_stages(model.pipeline, asked).found
        ids = tuple(str(id) for id in found.take(range(min(LONGEST, len(found)))).ids.tolist())
        with self._lock:
            self._kept[key] = ids
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return ids[:depth]

    def tops(
        self, versions: Sequence[str], queries: Iterable[str], deadline: Deadline, depth: int = DEPTH
    ) -> dict[str, list[tuple[str, ...]]]:
        """One ranking per version for each query, for as many queries as are ranked until the deadline.

        What is ranked stays in memory, so that the next call goes on; the first query is always ranked.
        """
        found: dict[str, list[tuple[str, ...]]] = {}
        for query in queries:
            if found and deadline.left <= 0 and not self._has(versions, query):
                continue
            found[query] = [self.top(version, query, depth) for version in versions]
        return found

    def _has(self, versions: Sequence[str], query: str) -> bool:
        prints = [self.model(one).fingerprint(self.index.generation) for one in versions]
        with self._lock:
            return all((one, query) in self._kept for one in prints)
