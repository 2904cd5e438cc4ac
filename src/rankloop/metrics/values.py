"""Several metrics at once."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._jit import interpreted
from rankloop._options import passes_to
from rankloop.metrics.kernels.columns import Columns
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.metric import Metric, metric

__all__ = ["values"]

# Metrics whose kernels go down a list once, without numbers of two precisions, and ERR to a small depth.
_ONE_PASS = {
    "ndcg",
    "dcg",
    "average_precision",
    "reciprocal_rank",
    "hit",
    "precision",
    "recall",
    "r_precision",
}
_SHALLOW = 20


@passes_to(MetricLists.__init__)
def values(
    metrics: Iterable[str | Metric],
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    **columns: Unpack[Columns],
) -> dict[str, Values]:
    """One value per list of each metric, by its name; the lists are checked and sorted once for all.

    >>> made = values(["mrr", "p@1"], [0.1, 0.9, 0.3], [0, 0, 1], [0, 3])
    >>> made["mrr"], made["p@1"]
    (array([0.5]), array([0.]))
    """
    wanted = [metric(name) for name in metrics]
    lists: dict[bool, MetricLists] = {}
    for single in {one.single for one in wanted}:
        given = np.asarray(scores, np.float32) if single else scores
        lists[single] = MetricLists(given, labels, offsets, **columns)
    pool_labels = columns.get("pool_labels")
    quick = columns.get("weight") is None and all(map(_one_pass, wanted))
    documents = max(np.size(labels), 0 if pool_labels is None else np.size(pool_labels))
    with interpreted(documents) if quick else nullcontext():
        for single, checked in lists.items():
            _rank_once(checked, [one for one in wanted if one.single == single])
        return {one.name: one.of(lists[one.single]) for one in wanted}


def _one_pass(one: Metric) -> bool:
    name = one.measure.function.__name__
    return name in _ONE_PASS or (name == "err" and one.k is not None and one.k <= _SHALLOW)


def _rank_once(lists: MetricLists, wanted: list[Metric]) -> None:
    """Rank as deep as the deepest metric needs, so that the others find it done."""
    for ties in {one.options["ties"] for one in wanted if "ties" in one.options}:
        depths = [
            one.k if one.measure.reads == "top" else None for one in wanted if one.options.get("ties") == ties
        ]
        lists.ranked(ties, None if None in depths else max(depth for depth in depths if depth is not None))
