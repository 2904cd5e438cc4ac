"""Clicks without a correction."""

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["naive"]


def naive(log: Log, data: RankingDataset, *, unseen: str = "drop") -> RankingDataset:
    r"""Labels are clicks per page, with all their position bias: a baseline.

    .. math:: y_d = \frac{1}{N_q} \sum_i c_{id}

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> naive(ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y"] * 2, [1, 2, 1, 2], [1, 0, 1, 1]), data).y
    array([1. , 0.5], dtype=float32)
    """
    seen = evidence(log, None, data)
    return labelled(seen, naive_relevance(seen), unseen)


def naive_relevance(seen: Evidence) -> Floats:
    return seen.rate()
