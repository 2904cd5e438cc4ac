"""Do people look where a page puts things, or do they read on until they have found something?"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import DBN, ClickLog
from rankloop.clicks._rows import places
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased._bias import ClickBias
from rankloop.unbiased._evidence import Evidence, Floats, evidence
from rankloop.unbiased._held_out import first_unless_beaten, unseen_costs
from rankloop.unbiased.likelihood import boosted

__all__ = ["readers", "stop_reading"]

PAGES = 50_000  # that are enough to tell
CURVE, STOPPING = "a curve by rank", "people who stop reading"


def stop_reading(costs: Mapping[str, Floats]) -> bool:
    """Whether a `DBN` predicts the held-out clicks clearly better."""
    return first_unless_beaten(costs) == STOPPING


def readers(
    log: ClickLog,
    data: RankingDataset,
    curve: ClickBias,
    held: NDArray[np.bool_],
    ranker: LambdaMART,
    seed: int,
) -> dict[str, Floats]:
    """Minus the log-likelihood of the clicks on each held-out query, by its share of all showings.

    Under a curve a click says nothing of the looks below it, under a `DBN` of the other queries it does. Both
    give every click its chance after those above it, so that their likelihoods can be compared.
    """
    part = log
    if log.n_pages > PAGES:
        chosen = np.random.default_rng(seed).choice(log.n_pages, PAGES, replace=False)
        part = log.select(np.sort(chosen))
    asked = places(part.queries, data.qid)[part.page_query.code]
    others = part.select(~np.isin(asked, np.unique(data.row_query[held])))
    users: dict[str, ClickBias] = {CURVE: curve, STOPPING: DBN().fit(others)}
    shown = len(part) - len(others)
    return {name: _costs(evidence(part, user, data), held, ranker) / shown for name, user in users.items()}


def _costs(seen: Evidence, held: NDArray[np.bool_], ranker: LambdaMART) -> Floats:
    fitted, cells = boosted(seen, seen.shown & ~held, ranker, learn=False)
    looked_at = float(seen.impressions[held[seen.row]].sum())  # what cannot have been seen is no cell
    return unseen_costs(seen, held, fitted, cells.level) * looked_at
