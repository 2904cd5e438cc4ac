"""How likely each rank was to be seen, from a log that is larger than memory."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog
from rankloop.clicks.aggregate import counted, light, merged
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.in_order import InOrder
from rankloop.cluster.backends.inputs import each, shards_of
from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards
from rankloop.propensity import Propensity
from rankloop.propensity.estimate import ESTIMATORS, JOINT, experiment_of
from rankloop.propensity.fair_pairs import FairPairsEstimator
from rankloop.propensity.fitting.bootstrap import DRAWS, HashedGroups
from rankloop.propensity.fitting.sums import Estimator, Sums, merge
from rankloop.propensity.harvest import HarvestEstimator
from rankloop.propensity.randomized import RandomizedEstimator
from rankloop.propensity.swap_intervention import SwapEstimator

if TYPE_CHECKING:
    import polars

__all__ = ["propensity"]

_BY_SHARD: dict[str, Callable[[int], Estimator]] = {
    "randomized": RandomizedEstimator,
    "swap_intervention": SwapEstimator,
    "fair_pairs": FairPairsEstimator,
    "harvest": HarvestEstimator,
}


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
    solved once, in this process. Curves equal those of `rankloop.propensity` on the whole log; intervals
    use other groups. The joint fits (`regression_em`, `dual_learning`, `pair_debias`) explain relevance by
    the features of `data`: they run in this process, on the counts of all shards.
    """
    shards = shards_of(log, "clicks")
    one_of("method", method, ("auto", *_BY_SHARD, *JOINT))
    run = _Run(shards, layout, backend, workers)
    chosen = _supported(run, data) if method == "auto" else method
    options: dict[str, Any] = {"monotone": monotone, "resamples": resamples, "seed": seed}
    if chosen in JOINT:
        if data is None:
            raise ValueError(f"{chosen} explains relevance by features; pass the data set of the documents")
        parts: list[Aggregate] = []
        name = run.each_part(_counts, chosen, parts.append)
        return ESTIMATORS[chosen](merged(parts), data, depth=depth, layout=name, **options)
    most = int(shards.ranges["position"][1])
    estimator = _BY_SHARD[chosen](min(most, depth or most))
    total = _Total()
    name = run.each_part(_part, chosen, total.add, estimator, HashedGroups(most))
    assert total.sums is not None  # each_part refuses a log without pages
    return estimator.curve(total.sums, layout=name, **options)


@dataclass(frozen=True)
class _Run:
    """Tasks over the shards of a log."""

    shards: Shards
    layout: str | None
    backend: str
    workers: int | None

    def map(self, task: Callable[[Any], Any], title: str, *arguments: Any, **options: Any) -> list[Any]:
        shards = each(self.shards)
        return over(
            task,
            [(shard, self.layout, *arguments) for shard in shards],
            backend=self.backend,
            workers=self.workers,
            title=f"{title} by shard",
            sizes=[shard.n_rows for shard in shards],
            **options,
        )

    def each_part(
        self, task: Callable[[Any], Any], title: str, take: Callable[[Any], None], *arguments: Any
    ) -> str | None:
        """Hand the part of each shard to `take`, in the order of the shards; the layout of the pages."""
        layouts: set[str] = set()
        pages = 0

        def received(found: tuple[Any, list[str]] | None) -> None:
            nonlocal pages
            if found is not None:
                pages += 1
                layouts.update(found[1])
                take(found[0])

        self.map(task, title, *arguments, done=InOrder(received))
        if not pages:
            raise ValueError(f"no page of the log has layout {self.layout!r}")
        return _one_layout(layouts)


class _Total:
    """The sums so far."""

    sums: Sums | None = None

    def add(self, part: Sums) -> None:
        self.sums = merge([part] if self.sums is None else [self.sums, part])


def _supported(run: _Run, data: RankingDataset | None) -> str:
    """The estimator that `estimate` chooses: an experiment, documents at several ranks, or features."""
    names = {name for found in run.map(_interventions, "auto") for name in found}
    if (experiment := experiment_of(names)) is not None:
        return experiment
    if data is not None and not any(run.map(_several_ranks, "auto")):
        return "regression_em"
    return "harvest"


def _one_layout(names: Collection[str]) -> str | None:
    """The layout of a curve, which belongs to one; None where the log has no layouts."""
    present = sorted(names)
    if len(present) > 1:
        raise ValueError(
            f"the log mixes layouts ({', '.join(present)}) and a curve belongs to one; "
            f'pass layout="{present[0]}"'
        )
    return present[0] if present else None


def _part(given: tuple[Shards, str | None, Estimator, HashedGroups]) -> tuple[Sums, list[str]] | None:
    shard, layout, estimator, groups = given
    frame, layouts = _frame((shard, layout))
    if frame.height == 0:
        return None
    log = ClickLog.from_frame(frame) if estimator.needs_pages else counted(frame)
    return estimator.part(log, groups), layouts


def _counts(given: tuple[Shards, str | None]) -> tuple[Aggregate, list[str]] | None:
    frame, layouts = _frame(given)
    return (light(counted(frame)), layouts) if frame.height else None


def _interventions(given: tuple[Shards, str | None]) -> list[str]:
    """The names of the experiments on the pages of a shard."""
    frame, _ = _frame(given)
    if "intervention" not in frame.columns:
        return []
    return [str(name) for name in frame["intervention"].unique().to_list() if name is not None]


def _several_ranks(given: tuple[Shards, str | None]) -> bool:
    """Whether a document was seen at more than one rank."""
    frame, _ = _frame(given)
    shown = frame.select("query", "document", "position").unique()
    return bool(shown.height > shown.select("query", "document").n_unique())


def _frame(given: tuple[Shards, str | None]) -> tuple["polars.DataFrame", list[str]]:
    """The rows of the wanted layout, and the layouts among them."""
    shard, layout = given
    frame = shard.frame(0)
    if "layout" not in frame.columns:
        if layout is not None:
            raise ValueError(f"layout {layout!r} was asked for, but the log has no column layout")
        return frame, []
    if layout is not None:
        frame = frame.filter(frame["layout"].cast(str) == layout)
    return frame, [str(name) for name in frame["layout"].unique().sort().to_list()]
