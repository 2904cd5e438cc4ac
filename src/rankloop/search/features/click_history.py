"""How often documents were shown and clicked before a given time."""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints

__all__ = ["ClickHistory"]


class _Log(Protocol):
    """The columns of a click log that are used."""

    timestamp: Any

    @property
    def query(self) -> Any: ...
    @property
    def document(self) -> Any: ...
    @property
    def click(self) -> Any: ...


class ClickHistory:
    """Counts of a click log up to any time, so that no feature sees the click that it is to predict.

    `of_documents` counts over all queries, `of_pairs` for one query (its text, or its id in the log).

    >>> history = ClickHistory(["a", "a", "b"], [1, 1, 1], [0, 1, 1], [10.0, 20.0, 30.0])
    >>> history.of_documents([1], before=20.0)
    (array([1.]), array([0.]))
    >>> history.of_pairs("a", [1, 2], before=99.0)
    (array([2., 0.]), array([1., 0.]))
    """

    def __init__(self, query: ArrayLike, document: ArrayLike, click: ArrayLike, timestamp: ArrayLike) -> None:
        queries = [str(one) for one in np.asarray(query).tolist()]
        documents = [str(one) for one in np.asarray(document).tolist()]
        clicks = np.asarray(click, np.float64)
        times = np.asarray(timestamp, np.float64)
        if not len(queries) == len(documents) == len(clicks) == len(times):
            raise ValueError(
                f"one query, document, click and timestamp per impression, got {len(queries)}, "
                f"{len(documents)}, {len(clicks)} and {len(times)}"
            )
        if np.isnan(times).any():
            raise ValueError("every impression needs a timestamp, got nan")
        self._times, time = np.unique(times, return_inverse=True)
        self._documents = _Counts(documents, time, clicks, len(self._times))
        self._pairs = _Counts(list(zip(queries, documents, strict=True)), time, clicks, len(self._times))

    @classmethod
    def from_log(cls, log: _Log) -> "ClickHistory":
        """The history in a `ClickLog` with timestamps."""
        if log.timestamp is None:
            raise ValueError("a click history needs a log with timestamps, this one has none")
        return cls(log.query, log.document, log.click, log.timestamp)

    def of_documents(self, documents: Iterable[Any], *, before: float) -> tuple[Floats, Floats]:
        """Impressions and clicks of each document before the time."""
        return self._documents.until([str(one) for one in documents], self._at(before))

    def of_pairs(self, query: str, documents: Iterable[Any], *, before: float) -> tuple[Floats, Floats]:
        """Impressions and clicks of each document for this query before the time."""
        return self._pairs.until([(query, str(one)) for one in documents], self._at(before))

    def _at(self, before: float) -> int:
        return int(np.searchsorted(self._times, before))


class _Counts:
    """Rows sorted by key and time, with cumulated clicks."""

    def __init__(self, keys: list[Any], time: Ints, clicks: Floats, times: int) -> None:
        self._code = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        self._span = times + 1
        place = np.array([self._code[key] for key in keys], np.int64) * self._span + time
        order = np.argsort(place, kind="stable")
        self._place = place[order]
        self._clicks = np.concatenate(([0.0], np.cumsum(clicks[order])))

    def until(self, keys: list[Any], time: int) -> tuple[Floats, Floats]:
        codes = np.array([self._code.get(key, -1) for key in keys], np.int64)
        known = codes >= 0
        start = np.searchsorted(self._place, codes * self._span)
        end = np.where(known, np.searchsorted(self._place, codes * self._span + time), start)
        return (end - start).astype(np.float64), self._clicks[end] - self._clicks[start]
