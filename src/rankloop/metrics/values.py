"""Several metrics at once."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.metric import Metric, metric

__all__ = ["values"]


def values(
    metrics: Iterable[str | Metric],
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    pool_labels: ArrayLike | None = None,
    pool_offsets: ArrayLike | None = None,
    tie_break: ArrayLike | None = None,
    judged: ArrayLike | None = None,
    pool_judged: ArrayLike | None = None,
    subtopics: ArrayLike | None = None,
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
        lists[single] = MetricLists(
            given,
            labels,
            offsets,
            weight,
            pool_labels,
            pool_offsets,
            tie_break,
            judged,
            pool_judged,
            subtopics,
        )
        _rank_once(lists[single], [one for one in wanted if one.single == single])
    return {one.name: one.of(lists[one.single]) for one in wanted}


def _rank_once(lists: MetricLists, wanted: list[Metric]) -> None:
    """Rank as deep as the deepest metric needs, so that the others find it done."""
    for ties in {one.options["ties"] for one in wanted if "ties" in one.options}:
        depths = [
            one.k if one.measure.reads == "top" else None for one in wanted if one.options.get("ties") == ties
        ]
        lists.ranked(ties, None if None in depths else max(depths))  # type: ignore[type-var]
