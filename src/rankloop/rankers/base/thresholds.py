"""Thresholds of features: candidates at quantiles, and the best of them for weighted rows."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints, Singles

__all__ = ["Thresholds"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`cuts` by feature; `codes` counts the cuts below each value, and missing values have the last code."""

    codes: Ints
    cuts: list[Singles]

    @classmethod
    def of(cls, X: Singles, most: int) -> "Thresholds":
        """At most `most` cuts per feature, each a value that occurs and is not the largest."""
        codes = np.empty((X.shape[1], len(X)), np.int64)
        every = []
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
            every.append(cuts)
        return cls(codes, every)

    def best(self, weight: Floats) -> tuple[int, float, bool, float]:
        """Feature, threshold, side of missing values and sum r of the rows above it, with the largest |r|."""
        best = (0, 0.0, False, 0.0)
        for feature, cuts in enumerate(self.cuts):
            if len(cuts) == 0:
                continue
            sums = np.bincount(self.codes[feature], weight, minlength=len(cuts) + 2)
            beyond = np.cumsum(sums[-2:0:-1])[::-1]  # over the values above each threshold
            for missing in (False, True) if sums[-1] != 0.0 else (False,):
                r = beyond + sums[-1] if missing else beyond
                at = int(np.argmax(np.abs(r)))
                if abs(r[at]) > abs(best[3]):
                    best = (feature, float(cuts[at]), missing, float(r[at]))
        return best
