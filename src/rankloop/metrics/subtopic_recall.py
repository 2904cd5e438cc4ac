"""Subtopic recall: how many aspects of the query the first k documents cover."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.hit import hit
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure, over
from rankloop.metrics.kernels.subtopics import mean_over_subtopics, needs_subtopics
from rankloop.metrics.kernels.top_relevant import AtRank, TopRelevant

__all__ = ["subtopic_recall"]


@measure("subtopic_recall", "s_recall", reads="top")
def subtopic_recall(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    subtopics: ArrayLike | None = None,
    **options: Unpack[AtRank],
) -> Values:
    r"""The share of the subtopics of each list that its first `k` documents cover (Zhai et al., 2003).

    .. math:: \mathrm{S\text{-}recall@k} = \frac{|\bigcup_{r \le k} \mathrm{subtopics}(d_r)|}{|\bigcup_d
        \mathrm{subtopics}(d)|}

    `subtopics` has a row per document and a column per subtopic of its query; labels are not read.

    >>> subtopic_recall([3.0, 2.0, 1.0], [1, 1, 1], [0, 3], k=2, subtopics=[[1, 0], [1, 0], [0, 1]])
    array([0.5])
    """
    top = TopRelevant(scores, labels, offsets, subtopics=subtopics, **options)
    needs_subtopics(top.lists, "subtopic_recall")

    def covered(one: MetricLists, how: str) -> Values:
        threshold = top.relevance_threshold
        return over(one, hit, k=top.k, relevance_threshold=threshold, ties=how, empty="zero")

    return mean_over_subtopics(top.lists, top.ties, top.empty, covered)
