"""A metric over a data set as one number to maximise."""

from dataclasses import dataclass

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.metrics import Metric, metric

__all__ = ["Objective"]


@dataclass(frozen=True, slots=True)
class Objective:
    """The mean of a metric over the queries of a data set, signed so that higher is better.

    >>> import numpy as np
    >>> data = RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"])
    >>> Objective.of("mrr", data)(np.array([1.0, 2.0]))
    1.0
    """

    metric: Metric
    data: RankingDataset

    @classmethod
    def of(cls, name: str | Metric, data: RankingDataset) -> "Objective":
        return cls(metric(name), data)

    def values(self, scores: Floats) -> Floats:
        """The metric of each query, with its own sign; nan where it has no value."""
        data = self.data
        return self.metric(scores, data.y, data.offsets, weight=data.item_weight)

    def __call__(self, scores: Floats) -> float:
        mean = self.metric.mean(self.values(scores), self.data.query_weight)
        return mean if self.metric.higher_is_better else -mean
