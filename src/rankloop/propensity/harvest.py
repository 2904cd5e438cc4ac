"""Propensities harvested from documents that several rankings put at different ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop._jit import kernel
from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog, aggregate
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, Grouping, RandomGroups
from rankloop.propensity.fitting.pairs import edges_of, solve
from rankloop.propensity.fitting.people import has_people, without_groups
from rankloop.propensity.fitting.sums import Sums, curve_of_sums, estimate_here, merge
from rankloop.propensity.propensity import Propensity

__all__ = ["HarvestEstimator", "compare_ranks", "harvest"]

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

    "overlap" weights w are those of Mantel and Haenszel (1959), largest where a document was seen often at
    both ranks; "equal" weights (w = 1) are the paper's. "allpairs" fits one curve to all pairs of ranks with
    a relevance of its own for each unordered pair; "pivot" uses pairs with rank 1, "chain" neighbours. For a
    small log, `buckets` names the first ranks of groups that share one value: (1, 2, 3, 5, 8).

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=20_000, k=4, temperature=1.0, seed=0)
    >>> bool(np.allclose(harvest(log).values, [1, 1 / 2, 1 / 3, 1 / 4], atol=0.1))
    True
    """
    one_of("scheme", scheme, SCHEMES)
    one_of("weights", weights, WEIGHTS)
    starts = None if buckets is None else tuple(buckets)
    estimator_of = partial(HarvestEstimator, scheme=scheme, weights=weights, buckets=starts)
    options: dict[str, Any] = {"layout": layout, "monotone": monotone, "resamples": resamples, "seed": seed}
    if isinstance(log, ClickLog):
        pages, _ = one_layout(log, layout)
        if not has_people(pages):
            return estimate_here(log, estimator_of, depth=depth, **options)
        options["monotone"] = False
        found = estimate_here(
            log,
            estimator_of,
            depth=depth,
            widen=lambda found: estimator_of(len(found)).by_people(pages, found, seed),
            **options,
        )
        return found.monotone() if monotone else found
    if len(log) == 0:
        raise ValueError("the aggregate is empty; there is nothing to estimate")
    most = int(log.position.max())
    estimator = estimator_of(min(most, depth or most))
    return estimator.curve(merge([estimator.part(log, RandomGroups(seed))]), **options)


@dataclass(frozen=True)
class HarvestEstimator:
    """`harvest` of a log with this many ranks, shard by shard; a shard may come as its counts."""

    ranks: int
    scheme: str = "allpairs"
    weights: str = "overlap"
    buckets: tuple[int, ...] | None = None
    needs_pages: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.ranks < 2:
            raise ValueError("a curve needs at least two ranks; every document was logged at rank 1")

    def part(self, log: ClickLog | Aggregate, groups: Grouping, by: str = "query") -> Sums:
        """By group and pair of ranks: weighted click rates at both, and the weights."""
        if isinstance(log, ClickLog):
            pages, counts = log.n_pages, aggregate(log)
        else:
            counts = log
            pages = int(counts.impressions[counts.position == counts.position.min()].sum())
        bucket = self._bucket()
        edges = edges_of(int(bucket[-1]) + 1, self.scheme)
        group, count = groups(counts.row_query.code, counts.row_query.table, 3 * len(edges))
        number = np.full((edges.depth, edges.depth), -1, np.int64)
        number[edges.low, edges.high] = np.arange(len(edges))
        sums = np.zeros((count, len(edges), 3))
        compare_ranks(
            counts.names.code,
            np.append(bucket, edges.depth)[np.minimum(counts.position, self.ranks + 1) - 1],
            counts.impressions.astype(np.float64),
            counts.clicks.astype(np.float64),
            group,
            number,
            self.weights == "overlap",
            sums,
        )
        return Sums(edges, sums, np.bincount(group, minlength=count) > 0, pages)

    def curve(self, total: Sums, **options: Any) -> Propensity:
        """The curve of all documents that were seen at several ranks."""
        return curve_of_sums(
            total,
            "documents seen at several ranks",
            bucket=self._bucket(),
            method=f"harvest {self.scheme}",
            **options,
        )

    def by_people(self, log: ClickLog, found: Propensity, seed: int) -> Propensity:
        """The curve with the interval over people where that is wider; a document counts for all of them."""
        row_page, bucket = log.row_page, self._bucket()
        edges = edges_of(int(bucket[-1]) + 1, self.scheme)
        number = np.full((edges.depth, edges.depth), -1, np.int64)
        number[edges.low, edges.high] = np.arange(len(edges))
        key, cell = np.unique(log.pairs.code.astype(np.int64) << 32 | log.position, return_inverse=True)
        pair, position = key >> 32, key & 0xFFFFFFFF
        rank = np.append(bucket, edges.depth)[np.minimum(position, self.ranks + 1) - 1]
        columns: tuple[Floats, Floats] = (np.ones(len(cell)), log.click.astype(np.float64))
        counts = [np.asarray(np.bincount(cell, one, len(key)), np.float64) for one in columns]

        def without(pages: Bools) -> Floats:
            rows = pages[row_page]
            shown, clicks = (
                whole - np.bincount(cell[rows], one[rows], len(key))
                for whole, one in zip(counts, columns, strict=True)
            )
            kept = shown > 0
            sums = np.zeros((1, len(edges), 3))
            group = np.zeros(int(kept.sum()), np.int64)
            overlap = self.weights == "overlap"
            compare_ranks(pair[kept], rank[kept], shown[kept], clicks[kept], group, number, overlap, sums)
            return np.asarray(solve(edges, sums)[0][bucket])

        return without_groups(log, without, found, seed)

    def _bucket(self) -> Ints:
        """For each rank the index of its bucket."""
        if self.buckets is None:
            return np.arange(self.ranks)
        first = [int(one) for one in self.buckets]
        if first[:2] != [1, 2] or any(b <= a for a, b in pairwise(first)) or first[-1] > self.ranks:
            raise ValueError(
                f"buckets are rising first ranks, from 1, 2 to at most {self.ranks}, got {self.buckets}"
            )
        return np.searchsorted(first, np.arange(1, self.ranks + 1), "right") - 1


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
