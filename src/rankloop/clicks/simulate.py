"""Simulated sessions: a logging policy ranks, a simulated user clicks."""

from typing import Any, Unpack

import numpy as np

from rankloop._options import passes_to
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.intervention import NONE, FairPairs, Intervention, Shuffle, Swap
from rankloop.clicks.simulation.sessions import DESIGNS
from rankloop.clicks.simulation.stage import StageOptions, stage_of
from rankloop.data import RankingDataset

__all__ = ["simulate"]


@passes_to(stage_of)
def simulate(
    data: RankingDataset,
    *,
    sessions: int,
    ranker: str | None = None,
    columns: int | None = None,
    **options: Unpack[StageOptions],
) -> ClickLog:
    """Simulate a click log: each page draws a query (by `query_weight`), ranks it, and lets a user click.

    `logging_policy` is a ranker or one score per row; ties are broken at random, once. With a `temperature`
    every page is a draw from the Plackett-Luce distribution of scores / temperature. A share `rate` of the
    pages is part of an experiment: `randomize="swap"` exchanges rank 1 with one of the ranks 2..`top`,
    `"adjacent"` a rank with the next one, `"fairpairs"` each of the pairs (1,2), (3,4).. or (2,3), (4,5)..,
    all with probability 1/2, and `"shuffle"` orders the first `top` at random. The column `intervention` of
    the log has the experiment ("swap 1-4", also where nothing moved; "none"), `original_position` the rank
    before it. With `columns` a page is a grid (or carousels) of rows of so many results, and the log has the
    `row` and `column` of each, both from 1; an examination by position may depend on them
    (`clicks.simulation.people.cells`).

    Page i depends only on the seed and on i, not on the number of threads or of sessions.

    >>> data = RankingDataset.from_groups(np.zeros((6, 1)), [0, 1, 2, 2, 1, 0], [3, 3])
    >>> simulate(data, logging_policy=data.y, user="navigational", sessions=1000, k=2, seed=0)
    ClickLog(1,000 pages, 2,000 impressions, 722 clicks, 2 queries)
    """
    if sessions != int(sessions) or sessions < 1:
        raise ValueError(f"sessions is at least 1, and whole, got {sessions}")
    sessions = int(sessions)
    if columns is not None and columns < 1:
        raise ValueError(f"columns is the number of results side by side, at least 1, got {columns}")
    stage = stage_of(data, **options)
    played = stage.play(0, sessions)
    _, documents = stage.coded_rows()
    more: dict[str, Any] = {}
    for name, value in (("ranker", ranker), ("layout", options.get("layout"))):
        if value is not None:
            more[f"page_{name}"] = Coded(np.array([value]), np.zeros(sessions, np.int32))
    if stage.design > 0:
        names = np.array([NONE, *map(str, _interventions(stage.design, stage.top))])
        more["page_intervention"] = Coded(names, played.experiment)
        more["original_position"] = played.original
    if columns is not None:
        row, column = np.divmod(played.rank - 1, np.int32(columns))
        more |= {"row": row + np.int32(1), "column": column + np.int32(1)}
    return ClickLog._trusted(
        offsets=played.offsets,
        sessions=np.arange(sessions),
        page_query=Coded(data.qid, played.query),
        row_document=Coded(documents.table, played.row if data.docid is None else documents.code[played.row]),
        position=played.rank,
        click=played.click,
        **more,
    )


def _interventions(design: int, top: int) -> list[Intervention]:
    """The interventions that the kernel numbers 1, 2, ...; 0 is none."""
    name = list(DESIGNS)[design]
    if name == "swap":
        return [Swap(1, rank) for rank in range(2, top + 1)]
    if name == "adjacent":
        return [Swap(rank, rank + 1) for rank in range(1, top)]
    if name == "fairpairs":
        return [FairPairs(odd=True), FairPairs(odd=False)]
    return [Shuffle(top)]
