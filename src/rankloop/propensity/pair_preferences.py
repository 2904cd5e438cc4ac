"""Which of two neighbouring documents people prefer, without position bias."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from rankloop._arrays import Array, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import Pairs, RankingDataset
from rankloop.propensity.fair_pairs import FairPairsEstimator
from rankloop.propensity.fitting.exchanges import interventions

if TYPE_CHECKING:
    import polars

__all__ = ["Preferences", "pair_preferences"]


@dataclass(frozen=True, eq=False, repr=False)
class Preferences:
    """For each pair of adjacent results: impressions of and clicks on each document in the lower place."""

    query: Array
    first: Array
    second: Array
    clicks_first: Ints
    shown_first: Ints
    clicks_second: Ints
    shown_second: Ints

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        return f"Preferences({len(self):,} pairs, {int(np.sum(self.p_value < 0.05)):,} with p < 0.05)"

    @property
    def probability(self) -> Floats:
        """The probability that a click on the lower document is one on the first; 0.5 is no preference."""
        a = (self.clicks_first + 0.5) / (self.shown_first + 1)
        b = (self.clicks_second + 0.5) / (self.shown_second + 1)
        return np.asarray(a / (a + b))

    @property
    def p_value(self) -> Floats:
        """Of the two-sided test that both are clicked equally often (two proportions)."""
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
    """Which of two adjacent results people prefer (Radlinski & Joachims, 2006), without position bias.

    Each document of a pair is above the other as often as below it. Clicks on each document are counted
    while it is the lower one, so both are compared under the same conditions.

    >>> log = ClickLog(np.repeat([1, 2, 3, 4], 2), ["q"] * 8, ["a", "b", "b", "a"] * 2, [1, 2] * 4,
    ...                [0, 0, 0, 1] * 2, intervention=["fairpairs odd"] * 8,
    ...                original_position=[1, 2, 2, 1] * 2)
    >>> pair_preferences(log).probability.round(2)
    array([0.83])
    """
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to compare")
    lower, upper = [], []
    position, chain = log.position, FairPairsEstimator(log.n_positions)
    for done, pages in interventions(log):
        mask = np.zeros(log.n_pages, bool)
        mask[pages] = True
        for low, high in chain.pairs(done):
            rows = np.flatnonzero((position == high) & mask[log.row_page])
            rows = rows[(rows > 0) & (position[rows - 1] == low)]
            lower.append(rows)
            upper.append(rows - 1)
    below = np.concatenate([np.empty(0, np.int64), *lower])
    above = np.concatenate([np.empty(0, np.int64), *upper])
    if len(below) == 0:
        raise ValueError(
            'no page has the intervention "fairpairs odd" or "fairpairs even"; swap adjacent results with '
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
