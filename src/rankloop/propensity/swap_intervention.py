"""Propensities from pages on which two ranks were exchanged with probability 1/2."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

from rankloop._names import one_of
from rankloop._options import passes_to
from rankloop.clicks import ClickLog
from rankloop.clicks.intervention import Intervention, Swap
from rankloop.propensity.fitting.exchanges import ExchangeEstimator
from rankloop.propensity.fitting.sums import CurveOptions, estimate_here
from rankloop.propensity.propensity import Propensity

__all__ = ["SwapEstimator", "swap_intervention"]

SCHEMES = ("all", "pivot", "chain")


@passes_to(estimate_here)
def swap_intervention(log: ClickLog, *, scheme: str = "all", **options: Unpack[CurveOptions]) -> Propensity:
    r"""Swap interventions (Joachims et al., 2017): the same two documents, seen at both ranks.

    .. math:: \theta_b / \theta_a = \frac{c_{b b} / n + c_{a b} / n'}{c_{a a} / n + c_{b a} / n'}

    with n pages left as ranked, n' exchanged, and c_ab clicks at b on the document ranked at a. Uses all
    pages whose `intervention` is "swap a-b", exchanged or not, and `original_position`. `scheme` uses the
    swaps with rank 1 ("pivot"), those of neighbours ("chain"), or "all", weighted by their information.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=40_000, k=4, randomize="swap", seed=0)
    >>> swap_intervention(log).values.round(1)
    array([1. , 0.5, 0.3, 0.3])
    """
    one_of("scheme", scheme, SCHEMES)
    return estimate_here(log, partial(SwapEstimator, scheme=scheme), **options)


@dataclass(frozen=True)
class SwapEstimator(ExchangeEstimator):
    """`swap_intervention` of a log with this many ranks, shard by shard."""

    scheme: str = "all"
    method: ClassVar[str] = "swap_intervention"

    def pairs(self, done: Intervention) -> list[tuple[int, int]]:
        if not isinstance(done, Swap):
            return []
        low, high = sorted(done)
        used = {"all": True, "pivot": low == 1, "chain": high == low + 1}[self.scheme]
        return [(low, high)] if used else []
