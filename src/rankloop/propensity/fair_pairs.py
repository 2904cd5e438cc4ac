"""Propensities from pages on which adjacent results were swapped in pairs."""

from dataclasses import dataclass
from typing import ClassVar, Unpack

from rankloop._options import passes_to
from rankloop.clicks import ClickLog
from rankloop.clicks.intervention import FairPairs, Intervention
from rankloop.propensity.fitting.exchanges import ExchangeEstimator
from rankloop.propensity.fitting.sums import CurveOptions, estimate_here
from rankloop.propensity.propensity import Propensity

__all__ = ["FairPairsEstimator", "fair_pairs"]


@passes_to(estimate_here)
def fair_pairs(log: ClickLog, **options: Unpack[CurveOptions]) -> Propensity:
    """The curve from FairPairs pages (Radlinski & Joachims, 2006), as a chain of adjacent ranks.

    Pages whose `intervention` is "fairpairs odd" exchange each of (1,2), (3,4).. with probability 1/2,
    "fairpairs even" each of (2,3), (4,5)..; seeing a pair in both orders gives the ratio of its ranks.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=40_000, k=4, randomize="fairpairs", seed=0)
    >>> fair_pairs(log).values.round(1)
    array([1. , 0.5, 0.3, 0.2])
    """
    return estimate_here(log, FairPairsEstimator, **options)


@dataclass(frozen=True)
class FairPairsEstimator(ExchangeEstimator):
    """`fair_pairs` of a log with this many ranks, shard by shard."""

    method: ClassVar[str] = "fair_pairs"

    def pairs(self, done: Intervention) -> list[tuple[int, int]]:
        if not isinstance(done, FairPairs):
            return []
        return [(low, low + 1) for low in range(1 if done.odd else 2, self.ranks, 2)]
