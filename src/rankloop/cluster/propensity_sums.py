"""What one shard of a log says about a propensity curve: sums by group of queries."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import Aggregate, ClickLog
from rankloop.clicks.aggregate import counted, light
from rankloop.data.shards.manifest import shard_of
from rankloop.data.shards.shards import Shards
from rankloop.propensity.fitting.exchanges import Exchange, _arms
from rankloop.propensity.fitting.pairs import edges_of
from rankloop.propensity.harvest import compare_ranks
from rankloop.propensity.randomized import _shuffled_ranks

__all__ = [
    "Cells",
    "Part",
    "Total",
    "cells",
    "harvest",
    "interventions",
    "neighbours",
    "randomized",
    "several_ranks",
    "swaps",
]

Asked = tuple[Shards, str | None, int, int]  # one shard, layout, ranks, groups


@dataclass(frozen=True)
class Part:
    """`sums` by group; `present`: which groups have a query here; `reach`: how deep pages were shuffled."""

    sums: NDArray[np.float64]
    present: NDArray[np.bool_]
    pages: int
    layouts: list[str]
    reach: int = 0


class Total:
    """Parts added up in the order of the shards, whoever is first; only those that come early are held."""

    def __init__(self) -> None:
        self.whole: Part | None = None
        self._early: dict[int, Part | None] = {}
        self._next = 0

    def take(self, index: int, part: Part | None) -> None:
        self._early[index] = part
        while self._next in self._early:
            self._add(self._early.pop(self._next))
            self._next += 1

    def _add(self, part: Part | None) -> None:
        if part is None or self.whole is None:
            self.whole = part or self.whole
            return
        self.whole = Part(
            self.whole.sums + part.sums,
            self.whole.present | part.present,
            self.whole.pages + part.pages,
            sorted({*self.whole.layouts, *part.layouts}),
            max(self.whole.reach, part.reach),
        )


@dataclass(frozen=True)
class Cells:
    """The counts of a shard, and the layouts of its pages."""

    counts: Aggregate
    layouts: list[str]


def interventions(asked: Asked) -> list[str]:
    """The names of the experiments on the pages of a shard."""
    frame, _ = _frame(asked)
    if "intervention" not in frame.columns:
        return []
    return [str(name) for name in frame["intervention"].unique().to_list() if name is not None]


def several_ranks(asked: Asked) -> bool:
    """Whether a document was seen at more than one rank."""
    frame, _ = _frame(asked)
    shown = frame.select("query", "document", "position").unique()
    return bool(shown.height > shown.select("query", "document").n_unique())


def cells(asked: Asked) -> Cells | None:
    """What the joint fits learn from."""
    frame, layouts = _frame(asked)
    return Cells(light(counted(frame)), layouts) if frame.height else None


def harvest(asked: Asked) -> Part | None:
    """Clicks of each document at every two of its ranks, weighed as `propensity.harvest` does."""
    _, _, ranks, groups = asked
    frame, layouts = _frame(asked)
    if frame.height == 0:
        return None
    counts = counted(frame)
    edges = edges_of(ranks, "allpairs")
    number = np.full((ranks, ranks), -1, np.int64)
    number[edges.low, edges.high] = np.arange(len(edges))
    place = shard_of(counts.row_query.table.tolist(), groups)
    group = place[counts.row_query.code]
    sums = np.zeros((groups, len(edges), 3))
    compare_ranks(
        counts.names.code,
        np.minimum(counts.position, ranks + 1).astype(np.int64) - 1,
        counts.impressions.astype(np.float64),
        counts.clicks.astype(np.float64),
        group,
        number,
        True,
        sums,
    )
    first = counts.position == counts.position.min()
    return Part(sums, _present(group, groups), int(counts.impressions[first].sum()), layouts)


def randomized(asked: Asked) -> Part | None:
    """Clicks at rank 1 and at rank k on shuffled pages that show both."""
    _, _, ranks, groups = asked
    frame, layouts = _frame(asked)
    if frame.height == 0:
        return None
    log = ClickLog.from_frame(frame)
    reach, page = _shuffled_ranks(log), log.row_page
    shuffled = (log.position <= reach[page]) & (log.position <= ranks)
    shown, clicked = np.zeros((2, log.n_pages, ranks), bool)
    shown[page[shuffled], log.position[shuffled] - 1] = True
    clicked[page[shuffled], log.position[shuffled] - 1] = log.click[shuffled] == 1
    used = shown[:, 0]
    group = shard_of(log.queries.tolist(), groups)[log.page_query.code][used]
    sums = np.zeros((groups, max(ranks - 1, 1), 3))
    for rank in range(1, ranks):
        both = shown[used, rank]
        for i, values in enumerate((clicked[used, 0] & both, clicked[used, rank], both)):
            sums[:, rank - 1, i] = np.bincount(group, values, minlength=groups)
    deepest = int(reach.max(initial=0))
    return Part(sums, _present(group, groups), int(used.sum()), layouts, deepest)


def swaps(asked: Asked) -> Part | None:
    """Clicks at both ranks of each pair, on pages left as they were and on exchanged ones."""
    return _exchanged(asked, _swapped)


def neighbours(asked: Asked) -> Part | None:
    """The same of FairPairs pages, whose coins are tossed for neighbours."""
    return _exchanged(asked, _paired)


def _exchanged(asked: Asked, of: Callable[[str, int], list[tuple[int, int]]]) -> Part | None:
    _, _, ranks, groups = asked
    frame, layouts = _frame(asked)
    if frame.height == 0:
        return None
    log = ClickLog.from_frame(frame)
    if log.page_intervention is None or log.original_position is None:
        raise ValueError(
            "exchanges are read from the columns intervention and original_position; log both, or use harvest"
        )
    edges = edges_of(ranks, "allpairs")
    number = {
        pair: i
        for i, pair in enumerate(zip((edges.low + 1).tolist(), (edges.high + 1).tolist(), strict=True))
    }
    group = shard_of(log.queries.tolist(), groups)[log.page_query.code]
    sums, used = np.zeros((groups, len(edges), 6)), np.zeros(log.n_pages, bool)
    for code, name in enumerate(log.page_intervention.table):
        pages = np.flatnonzero(log.page_intervention.code == code)
        for low, high in of(str(name), ranks):
            used[pages] = True
            sums[:, number[low, high]] += _arms(log, Exchange(low, high, pages), group, groups)
    return Part(sums, _present(group[used], groups), int(used.sum()), layouts)


def _swapped(name: str, ranks: int) -> list[tuple[int, int]]:
    """The two ranks of "swap a-b"."""
    told = re.fullmatch(r"swap (\d+)-(\d+)", name)
    if told is None:
        return []
    low, high = sorted((int(told[1]), int(told[2])))
    return [(low, high)] if 1 <= low < high <= ranks else []


def _paired(name: str, ranks: int) -> list[tuple[int, int]]:
    """The pairs of "fairpairs odd" and "fairpairs even"."""
    told = re.fullmatch(r"fairpairs (odd|even)", name)
    if told is None:
        return []
    return [(low, low + 1) for low in range(1 if told[1] == "odd" else 2, ranks, 2)]


def _frame(asked: Asked) -> tuple[Any, list[str]]:
    """The rows of the layout asked for, and the layouts among them."""
    shard, layout, _, _ = asked
    frame = shard.frame(0)
    if "layout" not in frame.columns:
        if layout is not None:
            raise ValueError(f"layout {layout!r} was asked for, but the log has no column layout")
        return frame, []
    if layout is not None:
        frame = frame.filter(frame["layout"].cast(str) == layout)
    return frame, [str(name) for name in frame["layout"].unique().sort().to_list()]


def _present(group: NDArray[np.int64], groups: int) -> NDArray[np.bool_]:
    return np.bincount(group, minlength=groups) > 0
