"""Statistics of a whole collection, asked of the engine where its documents are not on this machine."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rankloop.search.index.snapshot import Snapshot

__all__ = ["CollectionStatistics", "Statistics", "Wanted"]

SECONDS = 60.0  # a number is asked for again after this time
REMEMBERED = 50_000

Wanted = tuple[tuple[str, ...], str]  # the text fields, and a word in any of them


class CollectionStatistics(NamedTuple):
    """What features need of a collection for one query.

    `lengths` are mean words by text field, nan where the engine does not say. `counts` is the number of
    documents that have a word in any of some fields.
    """

    documents: int
    lengths: tuple[float, ...]
    counts: dict[Wanted, int]


class Statistics:
    """Numbers of a collection, remembered for a minute.

    `size` gives the number of documents and the mean lengths of text fields, `count` how many documents
    have each of some words.
    """

    def __init__(
        self,
        size: Callable[[], tuple[int, tuple[float, ...]]],
        count: Callable[[Sequence[Wanted]], list[int]],
    ) -> None:
        self._size, self._count = size, count
        self._known: dict[Wanted, tuple[float, int]] = {}
        self._sized: tuple[float, int, tuple[float, ...]] | None = None
        self._lock = threading.Lock()

    def of(self, wanted: Sequence[Wanted]) -> CollectionStatistics:
        """The numbers for some words; those that are not known are asked for in one request."""
        now = time.monotonic()
        with self._lock:
            fresh = {
                key: known for key in wanted if (known := self._known.get(key)) and now - known[0] < SECONDS
            }
            sized = self._sized if self._sized and now - self._sized[0] < SECONDS else None
        missing = [key for key in dict.fromkeys(wanted) if key not in fresh]
        counts = self._count(missing) if missing else []
        if sized is None:
            sized = (now, *self._size())
        with self._lock:
            if len(self._known) > REMEMBERED:
                self._known.clear()
            for key, number in zip(missing, counts, strict=True):
                self._known[key] = fresh[key] = (now, number)
            self._sized = sized
        return CollectionStatistics(sized[1], sized[2], {key: fresh[key][1] for key in wanted})

    def missing(self, words: Iterable[str], fields: tuple[str, ...], local: "Snapshot") -> frozenset[str]:
        """Words that no document has in any of some text fields.

        The engine is asked about those that the local index does not have.
        """
        terms = [(local.text_fields.index(name), local.analyser(name)) for name in fields]
        wanted = [
            (fields, word)
            for word in words
            if not any(local.df(at, term) for at, analyser in terms for term in analyser.terms(word))
        ]
        counts = self.of(wanted).counts if wanted else {}
        return frozenset(word for fields, word in wanted if not counts[fields, word])

    def forget(self) -> None:
        """Ask again: the documents are others now."""
        with self._lock:
            self._known.clear()
            self._sized = None
