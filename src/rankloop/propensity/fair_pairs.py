"""Neighbours exchanged in pairs: propensities, and preferences that position cannot bias."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rankloop.clicks import ClickLog
from rankloop.data import Pairs, RankingDataset
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS
from rankloop.propensity.fitting.exchanges import Exchange, curve_of_exchanges
from rankloop.propensity.propensity import Propensity

if TYPE_CHECKING:
    import polars

__all__ = ["Preferences", "fair_pairs", "pair_preferences"]


def fair_pairs(
    log: ClickLog,
    *,
    depth: int | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> Propensity:
    """The curve from FairPairs pages (Radlinski & Joachims, 2006): a chain, half of its links on each page.

    Pages whose `intervention` is "fairpairs odd" toss a coin for each of (1,2), (3,4).., "fairpairs even" for
    (2,3), (4,5)..; the documents of a pair are seen both ways, which gives the ratio of its ranks.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=40_000, k=4, randomize="fairpairs", seed=0)
    >>> fair_pairs(log).values.round(1)
    array([1. , 0.5, 0.3, 0.2])
    """
    log, layout = one_layout(log, layout)
    ranks = min(log.n_positions, depth or log.n_positions)
    exchanges = [Exchange(low, low + 1, pages) for low, pages in _paired(log) if low < ranks]
    return curve_of_exchanges(
        log, exchanges, ranks, "fair_pairs", layout=layout, monotone=monotone, resamples=resamples, seed=seed
    )


@dataclass(frozen=True, eq=False, repr=False)
class Preferences:
    """For each pair of neighbours: how often each was clicked while it was the lower one, and shown so."""

    query: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    clicks_first: NDArray[np.int64]
    shown_first: NDArray[np.int64]
    clicks_second: NDArray[np.int64]
    shown_second: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        return f"Preferences({len(self):,} pairs, {int(np.sum(self.p_value < 0.05)):,} with p < 0.05)"

    @property
    def probability(self) -> NDArray[np.float64]:
        """That a click on the lower document of the pair goes to the first; 0.5 is no preference."""
        a = (self.clicks_first + 0.5) / (self.shown_first + 1)
        b = (self.clicks_second + 0.5) / (self.shown_second + 1)
        return np.asarray(a / (a + b))

    @property
    def p_value(self) -> NDArray[np.float64]:
        """Two-sided, that both are clicked equally often (two proportions)."""
        a, b = self.clicks_first / self.shown_first, self.clicks_second / self.shown_second
        shown = self.shown_first + self.shown_second
        both = (self.clicks_first + self.clicks_second) / shown
        spread = np.sqrt(both * (1 - both) * (1 / self.shown_first + 1 / self.shown_second))
        z = np.divide(np.abs(a - b), spread, out=np.zeros(len(self)), where=spread > 0)
        return np.asarray(2 * norm.sf(z))

    def to_frame(self) -> "polars.DataFrame":
        import polars

        names = ("query", "first", "second", "probability", "p_value")
        return polars.DataFrame({name: getattr(self, name) for name in names})

    def to_pairs(self, data: RankingDataset) -> Pairs:
        """As preferences between rows of the data set, which pairwise losses learn from."""
        rows = []
        for documents in (self.first, self.second):
            n = len(documents)
            shown = ClickLog(np.arange(n), self.query, documents, np.ones(n), np.zeros(n))
            rows.append(shown.rows(data))
        return Pairs(rows[0], rows[1], self.probability, self.shown_first + self.shown_second)


def pair_preferences(log: ClickLog) -> Preferences:
    """Which of two neighbours people prefer (Radlinski & Joachims, 2006), without position bias.

    Each document of a pair is as often above as below the other. Clicks on a document while it is the lower
    one are compared with clicks on the other while that is lower: both were looked at under like conditions.

    >>> log = ClickLog(np.repeat([1, 2, 3, 4], 2), ["q"] * 8, ["a", "b", "b", "a"] * 2, [1, 2] * 4,
    ...                [0, 0, 0, 1] * 2, intervention=["fairpairs odd"] * 8,
    ...                original_position=[1, 2, 2, 1] * 2)
    >>> pair_preferences(log).probability.round(2)
    array([0.83])
    """
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to compare")
    lower, upper = [], []
    position = log.position
    for low, pages in _paired(log):
        mask = np.zeros(log.n_pages, bool)
        mask[pages] = True
        rows = np.flatnonzero((position == low + 1) & mask[log.row_page])
        rows = rows[(rows > 0) & (position[rows - 1] == low)]
        lower.append(rows)
        upper.append(rows - 1)
    below = np.concatenate([np.empty(0, np.int64), *lower])
    above = np.concatenate([np.empty(0, np.int64), *upper])
    if len(below) == 0:
        raise ValueError(
            'no page has the intervention "fairpairs odd" or "fairpairs even"; exchange neighbours with '
            "probability 1/2 and log intervention and original_position"
        )
    code = log.pairs.code.astype(np.int64)
    one, two = code[below], code[above]
    first, second = np.minimum(one, two), np.maximum(one, two)
    key, place = np.unique(first * len(log.pairs) + second, return_inverse=True)
    is_first, click = one == first, log.click[below]
    counts = [
        np.bincount(place[side], click[side] if clicked else None, minlength=len(key)).astype(np.int64)
        for side in (is_first, ~is_first)
        for clicked in (True, False)
    ]
    both = (counts[1] > 0) & (counts[3] > 0)
    a, b = np.divmod(key[both], len(log.pairs))
    pairs = log.pairs
    return Preferences(
        log.queries[pairs.query[a]],
        log.documents[pairs.document[a]],
        log.documents[pairs.document[b]],
        *(one[both] for one in counts),
    )


def _paired(log: ClickLog) -> list[tuple[int, NDArray[np.int64]]]:
    """The upper rank of each pair, and the pages that tossed a coin for it."""
    if log.page_intervention is None or log.original_position is None:
        raise ValueError(
            "pairs are read from the columns intervention and original_position; log both, "
            "or use harvest(log), which needs neither"
        )
    found = []
    for number, name in enumerate(log.page_intervention.table):
        told = re.fullmatch(r"fairpairs (odd|even)", str(name))
        if told is not None:
            pages = np.flatnonzero(log.page_intervention.code == number)
            found += [(low, pages) for low in range(1 if told[1] == "odd" else 2, log.n_positions, 2)]
    return found
