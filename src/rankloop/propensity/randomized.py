"""Propensities from pages whose first ranks were shuffled."""

import re

import numpy as np

from rankloop.clicks import ClickLog
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, bootstrapped, grouped
from rankloop.propensity.fitting.pairs import edges_of, solve, tied
from rankloop.propensity.propensity import Propensity

__all__ = ["randomized"]


def randomized(
    log: ClickLog,
    *,
    depth: int | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> Propensity:
    r"""RandTopN (Joachims et al., 2017): on shuffled pages every rank shows the same documents on average.

    .. math:: \theta_k / \theta_1 = \mathrm{clicks}_k / \mathrm{clicks}_1

    over the pages that show rank k, so that short lists do not flatter the first ranks. Uses the pages whose
    `intervention` is "shuffle n", up to rank n.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=20_000, k=4, randomize="shuffle", seed=0)
    >>> randomized(log).values.round(1)
    array([1. , 0.5, 0.4, 0.3])
    """
    log, layout = one_layout(log, layout)
    reach = _shuffled_ranks(log)
    ranks = int(min(reach.max(), log.n_positions, depth or log.n_positions))
    if ranks < 2:
        raise ValueError(
            'no page has the intervention "shuffle n" with n of 2 or more; show some pages with the first '
            "n in random order and say so in the column intervention, or use harvest(log)"
        )
    page = log.row_page
    shuffled = (log.position <= reach[page]) & (log.position <= ranks)
    shown = np.zeros((log.n_pages, ranks), bool)
    clicked = np.zeros((log.n_pages, ranks), bool)
    shown[page[shuffled], log.position[shuffled] - 1] = True
    clicked[page[shuffled], log.position[shuffled] - 1] = log.click[shuffled] == 1
    used = shown[:, 0]
    shown, clicked = shown[used], clicked[used]
    group, groups = grouped(log.page_query.code[used], seed)
    sums = np.empty((groups, ranks - 1, 3))
    for rank in range(1, ranks):
        both = shown[:, rank]
        for i, counted in enumerate((clicked[:, 0] & both, clicked[:, rank], both)):
            sums[:, rank - 1, i] = np.bincount(group, counted, minlength=groups)
    edges = edges_of(ranks, "pivot")
    tied(edges, sums.sum(axis=0), "shuffled pages")
    curve = bootstrapped(
        sums,
        lambda totals: solve(edges, totals),
        resamples=resamples,
        seed=seed,
        method="randomized",
        layout=layout,
        pages=int(used.sum()),
    )
    return curve.monotone() if monotone else curve


def _shuffled_ranks(log: ClickLog) -> np.ndarray:
    """For each page how many of its first ranks were shuffled."""
    if log.page_intervention is None:
        return np.zeros(log.n_pages, np.int64)
    told = (re.fullmatch(r"shuffle (\d+)", str(name)) for name in log.page_intervention.table)
    reach = np.array([0 if one is None else int(one[1]) for one in told], np.int64)
    return reach[log.page_intervention.code]
