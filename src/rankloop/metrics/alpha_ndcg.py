"""NDCG in which a subtopic counts less with every document that has it."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Floats, Ints
from rankloop._jit import kernel
from rankloop.lists import Gain, discount
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.stopping import stopping
from rankloop.metrics.kernels.subtopics import each_subtopic, needs_subtopics

__all__ = ["alpha_ndcg"]


@measure("alpha_ndcg", "alpha-ndcg", reads="top", bounded=False)
def alpha_ndcg(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    alpha: float = 0.5,
    ties: str = "average",
    empty: str = "nan",
    subtopics: ArrayLike | None = None,
) -> Values:
    r"""alpha-NDCG of each list (Clarke et al., 2008): a subtopic seen c times before is worth (1 - alpha)^c.

    .. math:: \alpha\mathrm{DCG@k} = \sum_{r \le k} \frac{1}{\log_2(1 + r)} \sum_{t \in d_r}
        (1 - \alpha)^{|\{i < r : t \in d_i\}|}

    over that of a good order of the same documents: the greedy one, as the best is hard to find. It can be a
    little below the best, and the value then above 1. `subtopics` has a row per document and a column per
    subtopic of its query: above 0 where the document is about it. Labels are not read.

    >>> topics = [[1, 0], [1, 0], [0, 1]]
    >>> alpha_ndcg([3.0, 2.0, 1.0], [1, 1, 1], [0, 3], subtopics=topics).round(4)
    array([0.9652])
    >>> alpha_ndcg([3.0, 1.0, 2.0], [1, 1, 1], [0, 3], subtopics=topics)
    array([1.])
    """
    lists = MetricLists.of(scores, labels, offsets, subtopics=subtopics)
    needs_subtopics(lists, "alpha_ndcg")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha is above 0 and at most 1 (how much a second mention loses), got {alpha!r}")
    made = np.zeros(lists.n_lists)
    for one, how in each_subtopic(lists, ties):
        # Its gains are those of a reader who stops at each mention with probability alpha, over alpha.
        about = MetricLists(one.scores, one.labels > 0, one.offsets)
        gain = Gain.of("linear", about.labels)
        made += stopping(about, k, how, gain, alpha, discount) / alpha
    best = lists.shared(("greedy", k, alpha), lambda: _greedy_gain(lists, k, alpha))
    with np.errstate(invalid="ignore"):
        return lists.blank(made / best, best == 0, empty)


def _greedy_gain(lists: MetricLists, k: int | None, alpha: float) -> Values:
    """The alpha-DCG of each list when the document that adds most comes next."""
    best = np.zeros(lists.n_lists)
    worth = discount(np.arange(1, min(cutoff(k), lists.longest) + 1))
    about = lists.subtopics > 0
    for q in range(lists.n_lists):
        rows = about[lists.offsets[q] : lists.offsets[q + 1]]
        kinds, copies = np.unique(rows[rows.any(axis=1)], axis=0, return_counts=True)
        if len(kinds):
            best[q] = _greedy(kinds, copies.astype(np.int64), 1 - alpha, worth)
    return best


@kernel
def _greedy(kinds: Bools, copies: Ints, left: float, worth: Floats) -> float:
    """Documents with the same subtopics are one kind, of which there are some copies."""
    value = np.ones(kinds.shape[1])  # what one more mention of each subtopic is worth
    total = 0.0
    for rank in range(len(worth)):
        most, chosen = 0.0, -1
        for kind in range(len(kinds)):
            if copies[kind] > 0:
                adds = 0.0
                for topic in range(len(value)):
                    if kinds[kind, topic]:
                        adds += value[topic]
                if adds > most:
                    most, chosen = adds, kind
        if chosen < 0:
            break
        copies[chosen] -= 1
        total += most * worth[rank]
        for topic in range(len(value)):
            if kinds[chosen, topic]:
                value[topic] *= left
    return total
