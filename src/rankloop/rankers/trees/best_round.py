"""Which round of boosting is kept: the best one, or the one around which the metric is best."""

import math

import numpy as np

__all__ = ["STOPPING", "BestRound"]

STOPPING = ("best", "smoothed")


class BestRound:
    """The number of the round to keep, from 1, as the values of the rounds come in (higher is better).

    The metric of a few hundred queries goes up and down by chance from round to round, and the highest value
    is often reached too early. If `smoothed`, round r counts by the mean of the rounds r - r/2 to r + r/2, as
    far as they are known.

    >>> best = BestRound(smoothed=True)
    >>> for value in (0.1, 0.5, 0.1, 0.4, 0.4, 0.4, 0.1, 0.0):
    ...     best.add(value)
    >>> best.number
    4
    """

    def __init__(self, smoothed: bool) -> None:
        self.smoothed = smoothed
        self.number = 0
        self._sums = np.zeros(1024)  # of the first rounds
        self._rounds = 0
        self._known = 0  # rounds of which all neighbours are known
        self._best, self._best_known = -math.inf, 0

    def add(self, value: float) -> None:
        """One more round."""
        self._rounds += 1
        if not self.smoothed:
            if value > self._best:
                self._best, self.number = value, self._rounds
            return
        if self._rounds == len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
        self._sums[self._rounds] = self._sums[self._rounds - 1] + value
        at = np.arange(self._known + 1, self._rounds + 1)
        low, high = at - at // 2, np.minimum(at + at // 2, self._rounds)
        means = (self._sums[high] - self._sums[low - 1]) / (high - low + 1)
        whole = int(np.count_nonzero(at + at // 2 <= self._rounds))
        for number, mean in zip(at[:whole].tolist(), means[:whole].tolist(), strict=True):
            if mean > self._best:
                self._best, self._best_known = mean, number
        self._known += whole
        self.number = self._best_known
        if whole < len(at) and means[whole:].max() > self._best:
            self.number = int(at[whole:][means[whole:].argmax()])
