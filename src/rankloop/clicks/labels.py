"""Labels from clicks: one number per (query, document)."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.clicks.aggregate import Aggregate, aggregate
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.grouping import Pairs
from rankloop.clicks.columns.rows import dataset_rows
from rankloop.data import RankingDataset

__all__ = ["ClickLabels", "coec", "conversion_rate", "ctr", "dwell_satisfied", "smoothed_ctr"]


@dataclass(frozen=True, eq=False, repr=False)
class ClickLabels:
    """Values by (query, document), with the impressions behind each."""

    pairs: Pairs
    values: Floats
    impressions: Ints

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"ClickLabels({len(self):,} documents of {len(np.unique(self.pairs.query)):,} queries)"

    @property
    def query(self) -> Array:
        return self.pairs.queries[self.pairs.query]

    @property
    def document(self) -> Array:
        return self.pairs.documents[self.pairs.document]

    def on(self, data: RankingDataset, *, unseen: float = 0.0) -> RankingDataset:
        """The data set with these values as labels; documents that were never shown get `unseen`.

        >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
        >>> ctr(ClickLog([1, 1], ["q", "q"], ["y", "x"], [1, 2], [1, 0])).on(data).y
        array([0., 1.], dtype=float32)
        """
        row = dataset_rows(data, self.pairs, "mark")
        y = np.full(data.n_documents, unseen, np.float32)
        y[row[row >= 0]] = self.values[row >= 0]
        return data.replace(y=y)


def ctr(log: ClickLog | Aggregate) -> ClickLabels:
    """Clicks over impressions, with all their position bias."""
    shown, clicks, counts = _totals(log)
    return ClickLabels(counts.names, clicks / shown, shown)


def smoothed_ctr(
    log: ClickLog | Aggregate, *, strength: float = 10.0, prior: float | None = None
) -> ClickLabels:
    """CTR shrunk to `prior` (default: the rate of the log) with the weight of `strength` impressions.

    >>> log = ClickLog([1, 2], ["q", "q"], ["a", "b"], [1, 1], [1, 0])
    >>> smoothed_ctr(log, strength=2.0).values
    array([0.66666667, 0.33333333])
    """
    if strength < 0:
        raise ValueError(f"strength is a number of impressions >= 0, got {strength}")
    shown, clicks, counts = _totals(log)
    centre = clicks.sum() / shown.sum() if prior is None else prior
    return ClickLabels(counts.names, (clicks + strength * centre) / (shown + strength), shown)


def coec(log: ClickLog | Aggregate, *, strength: float = 1.0) -> ClickLabels:
    """Clicks over expected clicks (Zhang & Jones, 2007): those of the average document at the same ranks.

    1 is average; `strength` average expected clicks are added to both sides.

    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["a", "b", "b", "a"], [1, 2, 1, 2], [1, 1, 0, 0])
    >>> coec(log, strength=0.0).values
    array([1., 1.])
    """
    shown, clicks, counts = _totals(log)
    rank = counts.position - 1
    rate = np.bincount(rank, counts.clicks) / np.maximum(np.bincount(rank, counts.impressions), 1)
    expected = np.bincount(counts.names.code, counts.impressions * rate[rank], len(shown))
    safe = np.where(expected + strength > 0, expected + strength, 1.0)
    return ClickLabels(
        counts.names, np.where(expected + strength > 0, (clicks + strength) / safe, 1.0), shown
    )


def dwell_satisfied(log: ClickLog, *, seconds: float = 30.0, strength: float = 0.0) -> ClickLabels:
    """The rate of clicks with at least `seconds` of dwell time (Fox et al., 2005); unknown ones are 0."""
    if log.dwell is None:
        raise ValueError("the log has no dwell column; add the seconds spent after each click")
    good = (log.click == 1) & (np.nan_to_num(log.dwell, nan=-1.0) >= seconds)
    return _rate(log, good.astype(np.float64), strength)


def conversion_rate(log: ClickLog, *, strength: float = 0.0) -> ClickLabels:
    """Conversions (their number or value) over impressions."""
    if log.conversion is None:
        raise ValueError(
            "the log has no conversion column; add 1 (or a value) where a click led to a purchase"
        )
    return _rate(log, log.conversion, strength)


def _rate(log: ClickLog, value: Floats, strength: float) -> ClickLabels:
    pairs = log.pairs
    shown = np.bincount(pairs.code, minlength=len(pairs))
    total = np.bincount(pairs.code, value, len(pairs))
    rate = (total + strength * value.mean()) / (shown + strength)
    return ClickLabels(pairs, rate, shown)


def _totals(log: ClickLog | Aggregate) -> tuple[Ints, Floats, Aggregate]:
    counts = aggregate(log) if isinstance(log, ClickLog) else log
    if len(counts) == 0:
        raise ValueError("the log is empty; there is nothing to label")
    pair = counts.names.code
    shown = np.bincount(pair, counts.impressions).astype(np.int64)
    return shown, np.bincount(pair, counts.clicks).astype(np.float64), counts
