"""How good a ranking is: one value per list.

A metric is a function `ndcg(scores, labels, offsets, *, k=None, ...)` that gives one float per list.
"""

from rankloop.metrics.average_precision import average_precision
from rankloop.metrics.conventions import mean
from rankloop.metrics.dcg import dcg
from rankloop.metrics.err import err
from rankloop.metrics.metric import Metric, metric, values
from rankloop.metrics.ndcg import ndcg
from rankloop.metrics.reciprocal_rank import reciprocal_rank

__all__ = [
    "Metric",
    "average_precision",
    "dcg",
    "err",
    "mean",
    "metric",
    "ndcg",
    "reciprocal_rank",
    "values",
]
