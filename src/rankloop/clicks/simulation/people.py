"""The people of a simulated world: one kind of reader, or several that share the pages."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.pbm import PBM
from rankloop.clicks.user import attraction_by_grade, power_law, user
from rankloop.data import RankingDataset

__all__ = ["GRADES", "GRIDS", "PEOPLE", "Reader", "cells", "crowd", "people"]

GRADES = 5  # 0 to 4
LEVELS = 4  # of pages, by how good they are, for people whom good pages saturate
CROWDED = 0.7  # of the clicks a saturated person does not make on the best pages

# Baidu-ULTR, AllPairs intervention harvesting (philipphager/ultr-reproducibility).
BAIDU = np.array([1.0, 0.674, 0.414, 0.293, 0.208, 0.171, 0.136, 0.117, 0.084, 0.058])

# Examination by row falls as a power of the row; by column it is given, for five results side by side.
GRIDS = {
    "grid": (0.9, np.array([1.0, 0.95, 0.9, 0.85, 0.8])),
    "carousel": (0.5, np.array([1.0, 0.9, 0.7, 0.3, 0.2])),  # the last two are swiped into view
}

PEOPLE = ("1/k", "baidu", "trust", "cascade", "dbn", "saturation", "mixture", "adversarial", *GRIDS)


@dataclass(frozen=True, eq=False)
class Reader:
    """A click model, the share of the pages that it reads, and the labels that it reads by."""

    model: ClickModel
    share: float
    labels: RankingDataset


def people(kind: str, data: RankingDataset) -> list[Reader]:
    """The readers of a world, the most frequent first; `kind` is one of `PEOPLE`."""
    one_of("people", kind, PEOPLE)
    worth = attraction_by_grade()
    readers: list[tuple[ClickModel, float]]
    if kind == "saturation":
        model = PBM(examination=power_law(), attraction=_saturated().ravel())
        return [Reader(model, 1.0, data.replace(y=data.y + GRADES * crowd(data)[data.row_query]))]
    if kind == "mixture":  # of people who look by rank, of such as stop, and of such as trust the engine
        readers = [(user("pbm", eta=0.7), 0.4), (user("navigational"), 0.3), (user("trust"), 0.3)]
    elif kind == "adversarial":  # one page in seven is clicked by someone who wants the worst to rise
        readers = [(user("pbm"), 0.86), (PBM(examination=power_law(0.3), attraction=worth[::-1]), 0.14)]
    elif kind in GRIDS:
        readers = [(PBM(examination=cells(*GRIDS[kind]), attraction=worth), 1.0)]
    elif kind == "baidu":
        readers = [(PBM(examination=lambda rank: BAIDU[np.minimum(rank, 10) - 1], attraction=worth), 1.0)]
    else:
        names = {"1/k": "pbm", "trust": "trust", "cascade": "navigational", "dbn": "dbn"}
        readers = [(user(names[kind]), 1.0)]
    return [Reader(model, share, data) for model, share in readers]


def cells(power: float, columns: Floats) -> Callable[[Ints], Floats]:
    """Examination by position on a page with rows of `len(columns)` results, read from left to right.

    >>> cells(1.0, np.array([1.0, 0.5]))(np.array([1, 2, 3, 4]))
    array([1.  , 0.5 , 0.5 , 0.25])
    """

    def examination(position: Ints) -> Floats:
        row, column = np.divmod(np.asarray(position) - 1, len(columns))
        return np.asarray(columns[column] * (1.0 + row) ** -power)

    return examination


def crowd(data: RankingDataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How good the documents of each query are, in `LEVELS` steps of equally many queries.

    >>> data = RankingDataset.from_groups(np.zeros((8, 1)), [0, 0, 0, 1, 1, 1, 4, 4], [2, 2, 2, 2])
    >>> crowd(data)
    array([0, 1, 2, 3])
    """
    gain = 2.0**data.y - 1
    mean = np.add.reduceat(gain, data.offsets[:-1]) / data.lengths
    rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
    return np.asarray(LEVELS * rank // len(rank), np.int64)


def _saturated() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Attraction by level of the page and grade: the better the page, the fewer clicks per good document."""
    fewer = 1.0 - CROWDED * np.arange(LEVELS) / (LEVELS - 1)
    return np.asarray(fewer[:, None] * attraction_by_grade()[None, :])
