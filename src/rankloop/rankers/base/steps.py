"""Thresholds of features: candidates at quantiles, and the best of them for a given pull on the rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Steps"]


@dataclass(frozen=True, slots=True)
class Steps:
    """`codes` says how many thresholds of its feature a value exceeds; missing values have the last code."""

    codes: NDArray[np.int64]
    thresholds: list[NDArray[np.float32]]

    @classmethod
    def of(cls, X: NDArray[np.float32], most: int) -> "Steps":
        """At most `most` thresholds a feature, each a value that occurs and is not the largest."""
        codes = np.empty((X.shape[1], len(X)), np.int64)
        thresholds = []
        for feature, column in enumerate(X.T):
            known = column[~np.isnan(column)]
            values = np.unique(known)
            if len(values) > most + 1:
                spread = np.quantile(known, np.linspace(0, 1, most + 2)[1:-1], method="inverted_cdf")
                values = np.append(np.unique(spread), values[-1])
            cuts = values[:-1]
            codes[feature] = np.where(
                np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column, side="left")
            )
            thresholds.append(cuts)
        return cls(codes, thresholds)

    def best(self, pull: NDArray[np.float64]) -> tuple[int, float, bool, float]:
        """Feature, threshold, side of the missing values and agreement r of the step that pulls hardest."""
        best = (0, 0.0, False, 0.0)
        for feature, cuts in enumerate(self.thresholds):
            if len(cuts) == 0:
                continue
            sums = np.bincount(self.codes[feature], pull, minlength=len(cuts) + 2)
            beyond = np.cumsum(sums[-2:0:-1])[::-1]  # over the values above each threshold
            for missing in (False, True) if sums[-1] != 0.0 else (False,):
                r = beyond + sums[-1] if missing else beyond
                at = int(np.argmax(np.abs(r)))
                if abs(r[at]) > abs(best[3]):
                    best = (feature, float(cuts[at]), missing, float(r[at]))
        return best
