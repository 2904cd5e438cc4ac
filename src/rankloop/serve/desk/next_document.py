"""Which document to judge next: the one that will tell most about the difference of two versions."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop.serve.desk.pools import GAINS, Pools

__all__ = ["NextDocument", "expected_changes", "next_documents"]

_STEP = 1e-4  # of a gain, for derivatives


class NextDocument(NamedTuple):
    """A document of a query, and how far its grade is expected to move the difference in NDCG."""

    query: str
    document: str
    change: float


def next_documents(pools: Pools, n: int = 1, *, new: int = 1, old: int = 0) -> list[NextDocument]:
    """The `n` documents nobody graded with the largest expected change, best first."""
    changes = np.where(pools.open, expected_changes(pools, new=new, old=old), -1.0)
    flat = np.argsort(-changes.ravel(), kind="stable")[:n]
    found = []
    for at in flat.tolist():
        row, column = divmod(at, changes.shape[1])
        if changes[row, column] < 0:
            break
        one = pools.queries[row], pools.documents[row][column], float(changes[row, column])
        found.append(NextDocument(*one))
    return found


def expected_changes(pools: Pools, *, new: int = 1, old: int = 0) -> Floats:
    r"""For each document, how far knowing its grade is expected to move the mean difference in NDCG.

    .. math:: \sum_g p(g) \left| \frac{w_q}{\sum w} (\Delta_q(g) - \Delta_q)
              + \frac{G(g) - \bar G_c}{n_c + 1} S_c \right|

    with the difference :math:`\Delta_q(g)` of a query if the document has grade g, and what the grade tells
    about others of its class c: their expected gain :math:`\bar G_c`, which rests on :math:`n_c` judgments,
    changes, and the mean difference with it by :math:`S_c` per gain. Other documents that nobody graded count
    with their expected gain.
    """
    counts, place = pools.counts(new, old), pools.classes(new, old)
    number = counts.sum(axis=1)
    chances = counts / number[:, None]
    mean = chances @ GAINS
    gains = np.where(np.isnan(pools.grades), mean[place], 2.0 ** np.nan_to_num(pools.grades) - 1) * pools.real
    discounts = pools.discounts()
    apart = discounts[:, new] - discounts[:, old]
    share = pools.weights / max(float(pools.weights.sum()), 1e-300)
    now = _differences(pools, gains, apart)
    slopes = np.zeros(len(mean))
    for one in np.unique(place[pools.open]):
        more = gains + _STEP * (pools.open & (place == one))
        slopes[one] = share @ (_differences(pools, more, apart) - now) / _STEP
    found = np.zeros(gains.shape)
    for column in range(gains.shape[1]):
        rows = np.flatnonzero(pools.open[:, column])
        kind = place[rows, column]
        for grade, gain in enumerate(GAINS):
            changed = gains[rows]
            changed[:, column] = gain
            moved = share[rows] * (_differences(pools, changed, apart[rows]) - now[rows])
            others = (gain - mean[kind]) / (number[kind] + 1) * slopes[kind]
            found[rows, column] += chances[kind, grade] * np.abs(moved + others)
    return found


def _differences(pools: Pools, gains: Floats, apart: Floats) -> Floats:
    """The difference in NDCG of each query; 0 where nothing is relevant."""
    ideal, value = pools.ideal(gains), (gains * apart).sum(axis=1)
    found: Floats = np.divide(value, ideal, out=np.zeros(len(value)), where=ideal > 0)
    return found
