"""How long fits of the bags take, judged by the models that were tried."""

from collections.abc import Sequence

from rankloop._arrays import Ints
from rankloop.data import RankingDataset

__all__ = ["BAGGED", "MOST", "SAFETY", "all_folds", "larger", "one_fold"]

BAGGED = 2  # times as many members are bagged as are kept
MOST = 4  # times as many, where there is time for them beside the other divisions
SAFETY = 1.3  # how much longer a fit may take than it did before
TOGETHER = 3  # members that have time for all folds, of twice as many, or there are fewer folds or none


def larger(everything: RankingDataset, held: Ints, explored: int | None) -> float:
    """How many times longer a fit of the bags takes than the fit of the same model before.

    Models were tried on `explored` documents, or where that is None on all queries but those `held` out.
    """
    rows = everything.n_documents - int(everything.lengths[held].sum()) if explored is None else explored
    return SAFETY * max(everything.n_documents / max(rows, 1), 0.5)


def one_fold(seconds: Sequence[float], longer: float) -> float:
    """Seconds of one fold of the quickest of the best; `seconds` of what was tried, best first."""
    return longer * sum(sorted(seconds[: 2 * TOGETHER])[:TOGETHER])


def all_folds(seconds: Sequence[float], longer: float, members: int, folds: int, divisions: int) -> float:
    """Seconds of all bags: of `members` and as many again, and of `members` in the other divisions."""
    once = sum(seconds[: BAGGED * members]) + (divisions - 1) * sum(seconds[:members])
    return longer * folds * once
