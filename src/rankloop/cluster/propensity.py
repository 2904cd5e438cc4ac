"""How likely each rank was to be seen, from a log that is larger than memory."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._names import one_of
from rankloop.clicks.aggregate import merged
from rankloop.cluster import propensity_sums as sums_of
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, shards_of
from rankloop.cluster.propensity_sums import Part, Total
from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards
from rankloop.propensity import Propensity
from rankloop.propensity.estimate import ESTIMATORS, JOINT
from rankloop.propensity.fitting.bootstrap import DRAWS, GROUPS, NUMBERS, bootstrapped
from rankloop.propensity.fitting.exchanges import _balanced
from rankloop.propensity.fitting.pairs import Edges, edges_of, solve, tied

__all__ = ["propensity"]

SUMMED = ("randomized", "swap_intervention", "fair_pairs", "harvest")


def propensity(
    log: Shards | str | Path,
    data: RankingDataset | None = None,
    *,
    method: str = "auto",
    depth: int | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
    backend: str = "local",
    workers: int | None = None,
) -> Propensity:
    """A curve by the named estimator, or by the first the log supports, as `rankloop.propensity.estimate`.

    For `randomized`, `swap_intervention`, `fair_pairs` and `harvest` each shard gives its sums for up to
    1,000 groups of queries (by the hash of the query); they are added up in the order of the shards and
    solved once, here. Curves are those of `rankloop.propensity` on the whole log; intervals draw other
    groups. The joint fits (`regression_em`, `dual_learning`, `pair_debias`) explain relevance by the features
    of `data`: they run here, on the counts of all shards.
    """
    shards = shards_of(log, "clicks")
    one_of("method", method, ("auto", *SUMMED, *JOINT))
    most = int(shards.ranges["position"][1])
    work = _Work(shards, min(most, depth or most), layout, _groups(most), method)
    if method == "auto":
        work.method = _supported(work, data, backend, workers)
    if work.method in JOINT:
        if data is None:
            raise ValueError(f"{method} explains relevance by features; pass the data set of the documents")
        found = [one for one in work.run(sums_of.cells, backend, workers) if one is not None]
        if not found:
            raise _no_page(layout)
        named = _one_layout({name for one in found for name in one.layouts})
        counts, fit = merged([one.counts for one in found]), ESTIMATORS[work.method]
        return fit(counts, data, depth=depth, monotone=monotone, layout=named, resamples=resamples, seed=seed)
    total = Total()
    work.run(_SUMS[work.method], backend, workers, total.take)
    part = total.whole
    if part is None:
        raise _no_page(layout)
    named = _one_layout(part.layouts)
    edges, sums = _CURVES[work.method](part, work.ranks)
    curve = bootstrapped(
        sums[part.present],
        lambda totals: solve(edges, _balanced(totals) if totals.shape[-1] == 6 else totals),
        resamples=resamples,
        seed=seed,
        method="harvest allpairs" if work.method == "harvest" else work.method,
        layout=named,
        pages=part.pages,
    )
    return curve.monotone() if monotone else curve


@dataclass
class _Work:
    shards: Shards
    ranks: int
    layout: str | None
    groups: int
    method: str

    def run(
        self,
        task: Callable[..., Any],
        backend: str,
        workers: int | None,
        done: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:
        work = each(self.shards)
        return over(
            task,
            [(shard, self.layout, self.ranks, self.groups) for shard in work],
            backend=backend,
            workers=workers,
            title=f"{self.method} by shard",
            sizes=[shard.n_rows for shard in work],
            done=done,
        )


_SUMS: dict[str, Callable[..., Part | None]] = {
    "harvest": sums_of.harvest,
    "randomized": sums_of.randomized,
    "swap_intervention": sums_of.swaps,
    "fair_pairs": sums_of.neighbours,
}


def _groups(ranks: int) -> int:
    """As many groups of queries as the bootstrap of `rankloop.propensity` would hold."""
    width = 3 * ranks * (ranks - 1) // 2
    return min(GROUPS, max(10 * NUMBERS // max(width, 1), 50))


_EXPERIMENTS = {
    r"shuffle \d+": "randomized",
    r"swap \d+-\d+": "swap_intervention",
    r"fairpairs (odd|even)": "fair_pairs",
}


def _supported(work: _Work, data: RankingDataset | None, backend: str, workers: int | None) -> str:
    """What `estimate` would take: an experiment, documents at several ranks, or the features of `data`."""
    names = {name for found in work.run(sums_of.interventions, backend, workers) for name in found}
    for pattern, method in _EXPERIMENTS.items():
        if any(re.fullmatch(pattern, name) for name in names):
            return method
    if data is not None and not any(work.run(sums_of.several_ranks, backend, workers)):
        return "regression_em"
    return "harvest"


def _no_page(layout: str | None) -> ValueError:
    return ValueError(f"no page of the log has layout {layout!r}")


def _one_layout(names: Collection[str]) -> str | None:
    """A curve belongs to one layout; its name, where the log has names."""
    present = sorted(names)
    if len(present) > 1:
        raise ValueError(
            f"the log mixes layouts ({', '.join(present)}) and a curve belongs to one; "
            f'pass layout="{present[0]}"'
        )
    return present[0] if present else None


Curve = tuple[Edges, NDArray[np.float64]]  # which ranks are compared, and the sums of each group


def _sums(part: Part) -> NDArray[np.float64]:
    if part.present.sum() < 2:
        raise ValueError("intervals are by bootstrap over queries, so the log needs at least two queries")
    return part.sums


def _of_harvest(part: Part, ranks: int) -> Curve:
    if ranks < 2:
        raise ValueError("a curve needs at least two ranks; every document was logged at rank 1")
    edges = edges_of(ranks, "allpairs")
    sums = _sums(part)
    tied(edges, sums.sum(axis=0), "documents seen at several ranks")
    return edges, sums


def _of_shuffles(part: Part, ranks: int) -> Curve:
    reach = min(ranks, part.reach)
    if reach < 2:
        raise ValueError(
            'no page has the intervention "shuffle n" with n of 2 or more; show some pages with the first '
            "n in random order and say so in the column intervention, or use harvest"
        )
    edges = edges_of(reach, "pivot")
    sums = _sums(part)[:, : reach - 1]
    tied(edges, sums.sum(axis=0), "shuffled pages")
    return edges, sums


def _of_exchanges(part: Part, ranks: int) -> Curve:
    sums = _sums(part)
    whole = sums.sum(axis=0)
    both = (whole[:, 2] > 0) & (whole[:, 5] > 0)
    if not both.any():
        raise ValueError(
            "no page of this experiment was found in the column intervention; exchange ranks on some pages "
            "and log it, or use harvest"
        )
    pairs = edges_of(ranks, "allpairs")
    edges = Edges(ranks, pairs.low[both], pairs.high[both])
    tied(edges, _balanced(whole[both]), "exchanged pages")
    return edges, sums[:, both]


_CURVES: dict[str, Callable[[Part, int], Curve]] = {
    "harvest": _of_harvest,
    "randomized": _of_shuffles,
    "swap_intervention": _of_exchanges,
    "fair_pairs": _of_exchanges,
}
