"""What a log, or a shard of one, contributes to a curve: sums by group of queries."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Protocol, TypedDict

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.clicks.columns.columns import Coded
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, Grouping, RandomGroups, bootstrapped, check_queries
from rankloop.propensity.fitting.pairs import Edges, solve, tied
from rankloop.propensity.fitting.people import has_people, wider
from rankloop.propensity.fitting.stopping import stopping
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.trust_bias import with_trust

__all__ = ["CurveOptions", "Estimator", "Sums", "curve_of_sums", "estimate_here", "merge", "units_of"]

Counts = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums for each group of queries and each pair of ranks (groups x edges x sums of a pair).

    `present` marks the groups that have a query, `pages` counts the pages that were used.
    """

    edges: Edges
    values: Floats
    present: Bools
    pages: int

    def __add__(self, other: "Sums") -> "Sums":
        edges = self.edges | other.edges
        return Sums(
            edges, self._on(edges) + other._on(edges), self.present | other.present, self.pages + other.pages
        )

    def _on(self, edges: Edges) -> Floats:
        """The values at the places that their pairs have among `edges`, zeros elsewhere."""
        if len(edges) == len(self.edges):
            return self.values
        wide = np.zeros((len(self.values), len(edges), self.values.shape[2]))
        wide[:, np.searchsorted(edges.key, self.edges.key)] = self.values
        return wide


class Estimator(Protocol):
    """An estimator whose curve follows from sums: each shard gives a part, and one machine is one shard.

    `needs_pages` says whether `part` takes pages (a `ClickLog`) or counts (an `Aggregate`) will do; pages can
    be grouped by "query" or by "person". The options of `curve` are `layout`, `monotone`, `resamples` and
    `seed`.
    """

    needs_pages: ClassVar[bool]

    def part(self, log: Any, groups: Grouping, by: str = "query") -> Sums: ...

    def curve(self, total: Sums, **options: Any) -> Propensity: ...


class CurveOptions(TypedDict, total=False):
    """Options of every curve; the defaults are those of `estimate_here`."""

    depth: int | None
    monotone: bool
    layout: str | None
    resamples: int
    seed: int


def estimate_here(
    log: ClickLog,
    estimator_of: Callable[[int], Estimator],
    *,
    depth: int | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
    widen: Callable[[Propensity], Propensity] | None = None,
) -> Propensity:
    """The curve of a log in memory, as its only shard; `estimator_of` takes the number of ranks.

    `widen` gives the curve with another interval, before trust is looked at.
    """
    log, layout = one_layout(log, layout)
    estimator = estimator_of(min(log.n_positions, depth or log.n_positions))
    options = {"layout": layout, "monotone": monotone, "resamples": resamples, "seed": seed}
    found = estimator.curve(merge([estimator.part(log, RandomGroups(seed))]), **options)
    if estimator.needs_pages and has_people(log):
        by_people = estimator.part(log, RandomGroups(seed), "person")
        found = wider(found, estimator.curve(by_people, **options))
    found = found if widen is None else widen(found)
    return with_trust(log, replace(found, stopping=stopping(log)), seed)


def units_of(log: ClickLog, by: str) -> Coded:
    """The query of each page, or its person."""
    return log.page_user if by == "person" and log.page_user is not None else log.page_query


def merge(parts: Iterable[Sums]) -> Sums:
    """The sums of all parts, added in their order: floats added in another order differ in the last digit."""
    return reduce(Sums.__add__, parts)


def curve_of_sums(
    total: Sums,
    what: str,
    *,
    counts: Counts = np.asarray,
    bucket: Ints | None = None,
    monotone: bool,
    **options: Any,
) -> Propensity:
    """The curve and its interval; `what` names the pages in an error, `bucket` gives the value of each rank.

    `counts` turns the sums of a pair into what `solve` takes: clicks at both ranks, and pages.
    """
    check_queries(int(total.present.sum()))
    edges = total.edges
    tied(edges, counts(total.values.sum(axis=0)), what)
    ranks = slice(None) if bucket is None else bucket
    curve = bootstrapped(
        total.values[total.present],
        lambda totals: solve(edges, counts(totals))[:, ranks],
        pages=total.pages,
        **options,
    )
    return curve.monotone() if monotone else curve
