"""A stochastic ranking policy, and the probability that it shows what a log shows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased.display_probability import display_probability

__all__ = ["PlackettLuce"]


@dataclass(frozen=True, eq=False)
class PlackettLuce:
    r"""Documents are drawn one after another: :math:`\pi(d \mid \text{above}) \propto e^{s_d / T}`.

    `scores` is a ranker or one score per row of `data`. All candidates of a query take part, shown or not.

    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> policy = PlackettLuce(data, np.log([1.0, 3.0]))
    >>> policy.conditional(ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [0, 1]))
    array([0.25, 1.  ])
    """

    data: RankingDataset
    scores: Any
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature is above 0, got {self.temperature}")

    @property
    def logits(self) -> Floats:
        given: Any = self.scores.predict(self.data) if hasattr(self.scores, "predict") else self.scores
        scores = np.asarray(given, np.float64)
        if scores.shape != (self.data.n_documents,):
            raise ValueError(f"scores are one per row ({self.data.n_documents}), got shape {scores.shape}")
        return scores / self.temperature

    def conditional(self, log: ClickLog) -> Floats:
        """The probability of each impression given those above it; their product is that of the page."""
        return self.expectation(log, np.zeros(self.data.n_documents))[0]

    def marginal(self, log: ClickLog, *, samples: int = 1000, seed: int = 0) -> Floats:
        """The probability of each impression, over all that may be above it."""
        depth = log.n_positions
        probability = display_probability(self.logits, self.data.offsets, k=depth, samples=samples, seed=seed)
        found: Floats = probability[log.rows(self.data), log.position - 1]
        return found

    def expectation(self, log: ClickLog, values: ArrayLike) -> tuple[Floats, Floats]:
        """For each impression its conditional probability, and the mean of `values` (one per row)."""
        row = log.rows(self.data)
        probability, mean = np.empty(len(row)), np.empty(len(row))
        given = np.asarray(values, np.float64)
        _walk(self.logits, given, self.data.offsets, self.data.row_query, row, log.offsets, probability, mean)
        return probability, mean


@kernel
def _walk(
    logits: Floats,
    values: Floats,
    offsets: Ints,
    row_query: Ints,
    row: Ints,
    pages: Ints,
    probability: Floats,
    mean: Floats,
) -> None:
    for page in range(len(pages) - 1):
        first, last = pages[page], pages[page + 1]
        if first == last:
            continue
        query = row_query[row[first]]
        a, b = offsets[query], offsets[query + 1]
        left = np.exp(logits[a:b] - logits[a:b].max())
        for i in range(first, last):
            total = 0.0
            inner = 0.0
            for j in range(b - a):
                total += left[j]
                inner += left[j] * values[a + j]
            here = row[i] - a
            probability[i] = left[here] / total if total > 0 else 0.0
            mean[i] = inner / total if total > 0 else 0.0
            left[here] = 0.0
