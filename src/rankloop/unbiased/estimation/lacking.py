"""What logs often lack, and learning needs."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.clicks import Aggregate, ClickLog, aggregate

__all__ = ["all_equal", "lacking"]

FEW = 20  # so many pages may all have a click by chance


def lacking(log: object) -> list[str]:
    """Errors and warnings for a log without clicks or without non-clicks, which logs often drop."""
    if not isinstance(log, ClickLog | Aggregate):
        raise TypeError(
            f"learn takes a ClickLog or an Aggregate, then a data set; got a {type(log).__name__} first"
        )
    counts = aggregate(log) if isinstance(log, ClickLog) else log
    shown, clicked = int(counts.impressions.sum()), int(counts.clicks.sum())
    if shown == 0:
        raise ValueError("the log is empty; there is nothing to learn from")
    if clicked == 0:
        raise ValueError("nothing was clicked; log for longer, or check that clicks are joined to the pages")
    if clicked == shown:
        raise ValueError("the log has clicks only; log every document that was shown, clicked or not")
    _refuse_without_order(counts)
    notes = _gaps(counts)
    if not isinstance(log, ClickLog) or log.n_pages < FEW:
        return notes
    if np.all(np.add.reduceat(log.click, log.offsets[:-1], dtype=np.int64) > 0):
        notes.append(
            "every page has a click: keep the pages without clicks too, or all documents look better"
        )
    return notes


def _gaps(counts: Aggregate) -> list[str]:
    """A warning for ranks above others at which nothing was shown."""
    lost = np.flatnonzero(np.bincount(counts.position, counts.impressions)[1:] == 0) + 1
    if len(lost) == 0:
        return []
    runs = np.split(lost, np.flatnonzero(np.diff(lost) > 1) + 1)
    named = ", ".join(f"{one[0]} to {one[-1]}" if len(one) > 1 else f"{one[0]}" for one in runs)
    ranks = "rank" if len(lost) == 1 else "ranks"
    return [f"the log shows nothing at {ranks} {named}: there the curve is not from clicks"]


def _refuse_without_order(counts: Aggregate) -> None:
    """Refuse a log in which no query has two documents that were clicked at different rates."""
    names = counts.names
    shown = np.bincount(names.code, counts.impressions)
    rate = np.bincount(names.code, counts.clicks) / shown
    if np.all(np.bincount(names.query) < 2):
        raise ValueError(
            "the log never shows two documents for one query, so its clicks cannot say which of two is "
            "better; log all results of a page, clicked or not, or show other documents on some pages"
        )
    first = np.full(len(names.queries), np.nan)
    first[names.query[::-1]] = rate[::-1]
    if np.array_equal(rate, first[names.query]):
        raise ValueError(
            "within each query, all documents were clicked equally often, so nothing says which is better; "
            "log for longer, or check that clicks are joined to the documents that were clicked"
        )


def all_equal(scores: Floats) -> list[str]:
    """A warning for a ranker that tells no documents apart."""
    if np.ptp(scores) > 0:
        return []
    return ["the clicks are too few to tell documents apart: all scores are equal; log for longer"]
