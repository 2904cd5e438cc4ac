"""Expected reciprocal rank over the aspects of a query."""

from numpy.typing import ArrayLike

from rankloop.metrics.err import err
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure, over
from rankloop.metrics.kernels.subtopics import mean_over_subtopics, needs_subtopics

__all__ = ["err_ia"]


@measure("err_ia", "err-ia", reads="top")
def err_ia(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    max_label: float | None = None,
    ties: str = "average",
    empty: str = "nan",
    subtopics: ArrayLike | None = None,
) -> Values:
    r"""Intent-aware ERR of each list (Chapelle et al., 2011): the mean of ERR over its subtopics.

    .. math:: \mathrm{ERR\text{-}IA@k} = \frac{1}{|T|} \sum_{t \in T} \mathrm{ERR@k}_t

    `subtopics` has a row per document and a column per subtopic of its query, with grades (0: not about it);
    labels are not read. `max_label` is the best grade of the data set, by default the largest there is.

    >>> err_ia([2.0, 1.0], [1, 1], [0, 2], subtopics=[[1, 0], [0, 1]])
    array([0.375])
    """
    lists = MetricLists.of(scores, labels, offsets, subtopics=subtopics)
    needs_subtopics(lists, "err_ia")
    best = float(lists.subtopics.max(initial=0)) if max_label is None else max_label

    def of_one(one: MetricLists, how: str) -> Values:
        return over(one, err, k=k, max_label=best, ties=how, empty="zero")

    return mean_over_subtopics(lists, ties, empty, of_one)
