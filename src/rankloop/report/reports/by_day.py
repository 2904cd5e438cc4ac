"""The share of pages with a click, by day."""

from typing import TYPE_CHECKING

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop.clicks.columns.wilson import wilson
from rankloop.report.figure import Figure
from rankloop.report.over_time import over_time

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog

__all__ = ["by_day"]

_DAY = 86_400.0
_CALENDAR = (1e8, 2.5e11)  # seconds since 1970 that are taken for dates; clocks that start at 0 are not
_RANKERS = 6


def by_day(log: "ClickLog") -> Figure | None:
    """The share of pages with a click by day and ranker; None for a log of fewer than two dates."""
    if log.timestamp is None or not len(log):
        return None
    shown = log.timestamp[log.offsets[:-1]]
    known = np.isfinite(shown)
    if not known.any() or shown[known].min() < _CALENDAR[0] or shown[known].max() > _CALENDAR[1]:
        return None
    day = np.full(len(shown), -1, np.int64)
    day[known] = shown[known] // _DAY
    if len(np.unique(day[known])) < 2:
        return None
    clicked = np.add.reduceat(log.click, log.offsets[:-1], dtype=np.int64) > 0
    rankers = None if log.page_ranker is None else np.unique(log.page_ranker.code[known])
    if log.page_ranker is None or rankers is None or len(rankers) > _RANKERS:
        parts = {"": known}
    else:
        parts = {str(log.page_ranker.table[one]): known & (log.page_ranker.code == one) for one in rankers}
    curves = {name: _rates(day[kept], clicked[kept]) for name, kept in parts.items()}
    return over_time(
        curves,
        y="pages with a click",
        percent=True,
        title="Pages with a click, by day",
        note="Share of each day's pages with a click, with 95 % intervals.",
    )


def _rates(day: Ints, clicked: Bools) -> tuple[Floats, ...]:
    days, code = np.unique(day, return_inverse=True)
    hits, pages = (np.bincount(code, one).astype(np.float64) for one in (clicked, np.ones(len(day))))
    return (np.asarray(days * _DAY, np.float64), *wilson(hits, pages))
