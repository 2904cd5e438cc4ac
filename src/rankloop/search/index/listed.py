"""Documents in the order of a field, or as they are in the index: for browsing."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints
from rankloop.search.index.segment import name_of_field
from rankloop.search.index.snapshot import Snapshot

__all__ = ["listed"]

AT_ONCE = 50_000  # documents that are scored between two looks at the clock


def listed(
    snapshot: Snapshot,
    which: list[Bytes],
    k: int,
    order: tuple[str, bool] | None = None,
    score: Callable[[Ints], Floats] | None = None,
    check_time: Callable[[], None] | None = None,
) -> tuple[Ints, Floats, int]:
    """The first k documents of those marked per segment in `which`, their scores, and how many there are.

    `order` is a number or date field, and whether the largest come first; documents without a value come
    last, and equal values are ordered by `score`. Without an order they are as they are in the index.
    """
    rows = np.concatenate(
        [np.empty(0, np.int64)]
        + [np.flatnonzero(may) + s.base for s, may in zip(snapshot.segments, which, strict=True)]
    )
    if order is None:
        first = rows[:k]
        return first, _scores(first, score, check_time), len(rows)
    name, falling = order
    column = name_of_field("number", name)
    values = np.empty(len(rows))
    for segment, inside in snapshot.by_segment(rows):
        values[inside] = segment.arrays[column][rows[inside] - segment.base]
    values = np.where(np.isnan(values), np.inf, -values if falling else values)
    if len(rows) > k:
        near = values <= np.partition(values, k - 1)[k - 1]  # those that equal the last one too
        rows, values, every = rows[near], values[near], len(rows)
    else:
        every = len(rows)
    scores = _scores(rows, score, check_time)
    best = np.lexsort((rows, -scores, values))[:k]
    return rows[best], scores[best], every


def _scores(
    rows: Ints, score: Callable[[Ints], Floats] | None, check_time: Callable[[], None] | None
) -> Floats:
    scores = np.zeros(len(rows))
    for start in range(0, len(rows) if score is not None else 0, AT_ONCE):
        if check_time is not None:
            check_time()
        assert score is not None
        scores[start : start + AT_ONCE] = score(rows[start : start + AT_ONCE])
    return scores
