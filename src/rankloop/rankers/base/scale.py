"""Features on one scale: over the training set, or within each query."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints, Singles

__all__ = ["Standard", "refuse_infinite", "scaled_per_query", "segment_sum"]


@dataclass(frozen=True, slots=True)
class Standard:
    """Mean 0 and spread 1 over the training rows; a missing value counts as the mean."""

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, X: Singles) -> "Standard":
        """A constant feature gets spread 1 and so becomes 0.

        >>> Standard.of(np.array([[1, 7], [3, 7]], np.float32)).scale
        array([1., 1.])
        """
        refuse_infinite(X)
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.sum(X, axis=0, where=known, dtype=np.float64) / count
        spread = np.empty_like(mean)
        for feature in range(X.shape[1]):
            column = X[known[:, feature], feature].astype(np.float64)
            spread[feature] = np.sqrt(np.mean((column - mean[feature]) ** 2)) if len(column) else 0.0
        varies = spread > 1e-12 * np.abs(mean)
        return cls(mean, np.where(varies & (spread > 0), spread, 1.0))

    def apply(self, X: Singles) -> Floats:
        refuse_infinite(X)
        Z = (X - self.mean) / self.scale
        Z[np.isnan(Z)] = 0.0
        return Z


def refuse_infinite(X: Singles) -> None:
    infinite = np.isinf(X)
    if infinite.any():
        row, feature = np.argwhere(infinite)[0]
        raise ValueError(
            f"feature {feature} of row {row} is {X[row, feature]}; a weighted sum needs finite features, "
            "use nan for missing values"
        )


def segment_sum(values: Floats, offsets: Ints) -> Floats:
    """The sum of each list; no list is empty."""
    summed: Floats = np.add.reduceat(values, offsets[:-1], axis=0)
    return summed


def scaled_per_query(X: Singles, offsets: Ints, how: str) -> Floats:
    """Each feature within each query: mean 0 and spread 1, or from 0 to 1; nan stays nan.

    >>> scaled_per_query(np.array([[1], [3], [5], [5]], np.float32), np.array([0, 2, 4]), "standard").ravel()
    array([-1.,  1.,  0.,  0.])
    """
    refuse_infinite(X)
    values = X.astype(np.float64)
    lengths = np.diff(offsets)
    if how == "minmax":
        starts = offsets[:-1]
        low = np.fmin.reduceat(values, starts, axis=0)
        shift, spread = low, np.fmax.reduceat(values, starts, axis=0) - low
    else:
        known = ~np.isnan(values)
        count = np.maximum(segment_sum(known.astype(np.float64), offsets), 1)
        shift = segment_sum(np.where(known, values, 0.0), offsets) / count
        residual = np.where(known, values - np.repeat(shift, lengths, axis=0), 0.0)
        spread = np.sqrt(segment_sum(residual**2, offsets) / count)
    flat = ~(spread > 1e-12 * np.maximum(1.0, np.abs(shift)))
    spread[flat] = 1.0
    scaled: Floats = values - np.repeat(shift, lengths, axis=0)
    scaled /= np.repeat(spread, lengths, axis=0)
    return scaled
