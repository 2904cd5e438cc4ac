"""Propensities from pages whose first ranks were shuffled."""

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from rankloop._arrays import Ints
from rankloop._options import passes_to
from rankloop.clicks import ClickLog
from rankloop.clicks.intervention import Shuffle, intervention
from rankloop.propensity.fitting.bootstrap import Grouping
from rankloop.propensity.fitting.pairs import edges_of
from rankloop.propensity.fitting.sums import CurveOptions, Sums, curve_of_sums, estimate_here, units_of
from rankloop.propensity.propensity import Propensity

__all__ = ["RandomizedEstimator", "randomized"]


@passes_to(estimate_here)
def randomized(log: ClickLog, **options: Unpack[CurveOptions]) -> Propensity:
    r"""RandTopN (Joachims et al., 2017): on shuffled pages every rank shows the same documents on average.

    .. math:: \theta_k / \theta_1 = \mathrm{clicks}_k / \mathrm{clicks}_1

    over the pages that show rank k, so that short lists do not favour the first ranks. Uses the pages whose
    `intervention` is "shuffle n", up to rank n.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=20_000, k=4, randomize="shuffle", seed=0)
    >>> randomized(log).values.round(1)
    array([1. , 0.5, 0.4, 0.3])
    """
    return estimate_here(log, RandomizedEstimator, **options)


@dataclass(frozen=True)
class RandomizedEstimator:
    """`randomized` of a log with this many ranks, shard by shard."""

    ranks: int
    needs_pages: ClassVar[bool] = True

    def part(self, log: ClickLog, groups: Grouping, by: str = "query") -> Sums:
        """By group and rank k: clicks at rank 1 and at rank k, and pages, on pages that show both."""
        depth, page = _shuffled_ranks(log), log.row_page
        ranks = max(min(int(depth.max(initial=0)), self.ranks), 1)
        shuffled = (log.position <= depth[page]) & (log.position <= ranks)
        shown, clicked = np.zeros((2, log.n_pages, ranks), bool)
        shown[page[shuffled], log.position[shuffled] - 1] = True
        clicked[page[shuffled], log.position[shuffled] - 1] = log.click[shuffled] == 1
        used = shown[:, 0]
        shown, clicked = shown[used], clicked[used]
        unit = units_of(log, by)
        group, count = groups(unit.code[used], unit.table, 1)
        sums = np.zeros((count, ranks - 1, 3))
        for rank in range(1, ranks):
            both = shown[:, rank]
            for i, counted in enumerate((clicked[:, 0] & both, clicked[:, rank], both)):
                sums[:, rank - 1, i] = np.bincount(group, counted, minlength=count)
        present = np.bincount(group, minlength=count) > 0
        return Sums(edges_of(ranks, "pivot"), sums, present, int(used.sum()))

    def curve(self, total: Sums, **options: Any) -> Propensity:
        """The curve of all pages."""
        if total.edges.depth < 2:
            raise ValueError(
                'no page has the intervention "shuffle n" with n of 2 or more; show some pages with the '
                "first n in random order and log it in the column intervention, or use harvest(log)"
            )
        return curve_of_sums(total, "shuffled pages", method="randomized", **options)


def _shuffled_ranks(log: ClickLog) -> Ints:
    """For each page how many of its first ranks were shuffled."""
    if log.page_intervention is None:
        return np.zeros(log.n_pages, np.int64)
    done = [intervention(name) for name in log.page_intervention.table]
    depth = np.array([one.depth if isinstance(one, Shuffle) else 0 for one in done], np.int64)
    return depth[log.page_intervention.code]
