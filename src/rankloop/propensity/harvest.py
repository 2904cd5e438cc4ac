"""Propensities harvested from documents that several rankings put at different ranks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel
from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog, aggregate
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, bootstrapped, grouped
from rankloop.propensity.fitting.pairs import edges_of, solve, tied
from rankloop.propensity.propensity import Propensity

__all__ = ["harvest"]

SCHEMES = ("allpairs", "pivot", "chain")
WEIGHTS = ("overlap", "equal")


def harvest(
    log: ClickLog | Aggregate,
    *,
    scheme: str = "allpairs",
    weights: str = "overlap",
    depth: int | None = None,
    buckets: Sequence[int] | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> Propensity:
    r"""Intervention harvesting (Agarwal et al., 2019): documents seen at ranks a and b compare the two.

    .. math:: \hat c_a^{ab} = \sum_{(q,d)} w_{qd}^{ab} \frac{c_{qda}}{n_{qda}}, \qquad
              w = \frac{n_{qda} n_{qdb}}{n_{qda} + n_{qdb}}

    "overlap" weights w are those of Mantel and Haenszel (1959): a document counts by how well it compares the
    ranks; "equal" weights (w = 1) are the paper's. "allpairs" fits one curve to all pairs of ranks with a
    relevance of its own for each unordered pair; "pivot" takes pairs with rank 1, "chain" neighbours. Where a
    log is thin, `buckets` names the first ranks of groups that share one value: (1, 2, 3, 5, 8).

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=20_000, k=4, temperature=1.0, seed=0)
    >>> bool(np.allclose(harvest(log).values, [1, 1 / 2, 1 / 3, 1 / 4], atol=0.1))
    True
    """
    one_of("scheme", scheme, SCHEMES)
    one_of("weights", weights, WEIGHTS)
    if isinstance(log, ClickLog):
        log, layout = one_layout(log, layout)
        pages, counts = log.n_pages, aggregate(log)
    else:
        counts = log
        if len(counts) == 0:
            raise ValueError("the aggregate is empty; there is nothing to estimate")
        pages = int(counts.impressions[counts.position == counts.position.min()].sum())
    most = int(counts.position.max())
    ranks = min(most, depth or most)
    if ranks < 2:
        raise ValueError("a curve needs at least two ranks; every document was logged at rank 1")
    place = _places(buckets, ranks)
    edges = edges_of(int(place[-1]) + 1, scheme)
    group, groups = grouped(counts.row_query.code, seed, 3 * len(edges))
    number = np.full((edges.depth, edges.depth), -1, np.int64)
    number[edges.low, edges.high] = np.arange(len(edges))
    sums = np.zeros((groups, len(edges), 3))
    compare_ranks(
        counts.names.code,
        np.append(place, edges.depth)[np.minimum(counts.position, ranks + 1) - 1],
        counts.impressions.astype(np.float64),
        counts.clicks.astype(np.float64),
        group,
        number,
        weights == "overlap",
        sums,
    )
    tied(edges, sums.sum(axis=0), "documents seen at several ranks")
    curve = bootstrapped(
        sums,
        lambda totals: solve(edges, totals)[:, place],
        resamples=resamples,
        seed=seed,
        method=f"harvest {scheme}",
        layout=layout,
        pages=pages,
    )
    return curve.monotone() if monotone else curve


def _places(buckets: Sequence[int] | None, ranks: int) -> NDArray[np.int64]:
    """For each rank the index of its bucket."""
    if buckets is None:
        return np.arange(ranks)
    first = [int(one) for one in buckets]
    if first[:2] != [1, 2] or any(b <= a for a, b in pairwise(first)) or first[-1] > ranks:
        raise ValueError(
            f"buckets are rising first ranks, from 1, 2 to at most {ranks}, got {tuple(buckets)}"
        )
    return np.searchsorted(first, np.arange(1, ranks + 1), "right") - 1


@kernel
def compare_ranks(
    pair: Any, rank: Any, shown: Any, clicks: Any, group: Any, number: Any, overlap: bool, out: Any
) -> None:
    """Add each document's clicks at every two of its ranks to its group; ranks rise within a document."""
    first = 0
    for i in range(len(pair)):
        if pair[i] != pair[first]:
            first = i
        if rank[i] >= len(number):
            continue
        for j in range(first, i):
            edge = number[rank[j], rank[i]] if rank[j] < rank[i] else -1
            if edge < 0:
                continue
            weight = shown[i] * shown[j] / (shown[i] + shown[j]) if overlap else 1.0
            out[group[i], edge, 0] += weight * clicks[j] / shown[j]
            out[group[i], edge, 1] += weight * clicks[i] / shown[i]
            out[group[i], edge, 2] += weight
