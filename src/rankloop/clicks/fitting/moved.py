"""Documents that were shown at several ranks: how attractive other pages say they are, and their clicks.

One half of the people (or pages) says how attractive each document is, the other half shows how often it was
clicked at each rank: the noise of one is not that of the other.
"""

from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Ints32
from rankloop._jit import kernel
from rankloop.clicks.click_log import ClickLog

__all__ = ["Moved", "compared", "over_expected", "people_or_pages", "two_halves"]

RANKS = 50  # compared at most


class Moved(NamedTuple):
    """Clicks on one half of the pages by (pair, rank), with the attraction that the other half gives."""

    rows: Ints  # of the log
    cell: Ints  # for each of them
    pair: Ints  # of each cell; ranks rise within a pair
    rank: Ints  # as an index
    attraction: Floats
    ranks: int


def people_or_pages(log: ClickLog) -> Ints32:
    """The person of each page, or its number where the log does not know people."""
    if log.page_user is not None and len(np.unique(log.page_user.code)) > 1:
        return log.page_user.code
    return np.arange(log.n_pages, dtype=np.int32)


def two_halves(log: ClickLog, used: Bools, seed: int) -> list[Moved]:
    """Both halves in turn; `used` marks the rows whose clicks are compared."""
    unit = people_or_pages(log)
    side = (np.random.default_rng([seed, 7]).random(int(unit.max(initial=0)) + 1) < 0.5)[unit][log.row_page]
    halves = []
    for one in (False, True):
        clicks, expected, _ = over_expected(log, side != one)
        rows = np.flatnonzero(used & (side == one) & (log.position <= RANKS))
        if len(rows):
            ranks = int(log.position[rows].max())
            place = log.pairs.code[rows].astype(np.int64) * ranks + log.position[rows] - 1
            key, cell = np.unique(place, return_inverse=True)
            pair, rank = np.divmod(key, ranks)
            attraction = np.log((clicks + 1.0) / (expected + 1.0))[pair]
            halves.append(Moved(rows, cell, pair, rank, attraction, ranks))
    return halves


def over_expected(log: ClickLog, rows: Bools) -> tuple[Floats, Floats, Floats]:
    """By pair its clicks and those that its ranks would have on average; and the rate of each rank."""
    position, click, code = log.position[rows], log.click[rows], log.pairs.code[rows]
    rate = np.bincount(position, click) / np.maximum(np.bincount(position), 1)
    size = len(log.pairs)
    clicks, expected = (
        np.asarray(np.bincount(code, one, size), np.float64) for one in (click, rate[position])
    )
    return clicks, expected, rate


def compared(half: Moved, shown: Floats, clicks: Floats) -> Floats:
    """By two ranks (a before b), over the pairs that were shown at both, six sums of weights w.

    w times the click rate at a, at b, both times attraction, w times attraction, and w alone; w is that of
    Mantel and Haenszel (1959), n m / (n + m) for n impressions at a and m at b.
    """
    sums = np.zeros((half.ranks, half.ranks, 6))
    _compare(half.pair, half.rank, shown, clicks, half.attraction, sums)
    return sums


@kernel
def _compare(pair: Any, rank: Any, shown: Any, clicks: Any, attraction: Any, out: Any) -> None:
    first = 0
    for i in range(len(pair)):
        if pair[i] != pair[first]:
            first = i
        if shown[i] <= 0.0:
            continue
        for j in range(first, i):
            if shown[j] <= 0.0:
                continue
            weight = shown[i] * shown[j] / (shown[i] + shown[j])
            low, high = weight * clicks[j] / shown[j], weight * clicks[i] / shown[i]
            cell = out[rank[j], rank[i]]
            cell[0] += low
            cell[1] += high
            cell[2] += low * attraction[i]
            cell[3] += high * attraction[i]
            cell[4] += weight * attraction[i]
            cell[5] += weight
