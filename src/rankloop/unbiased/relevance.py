"""The estimates of relevance of every correction, as plain numbers."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased.affine import affine_relevance
from rankloop.unbiased.clipped import clipped_relevance
from rankloop.unbiased.direct_method import checked, modelled
from rankloop.unbiased.doubly_robust import doubly_robust_relevance
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.intervention_aware import intervention_aware_relevance
from rankloop.unbiased.ips import ips_relevance
from rankloop.unbiased.naive import naive_relevance
from rankloop.unbiased.policy_aware import policy_aware_relevance
from rankloop.unbiased.snips import snips_relevance

__all__ = ["METHODS", "estimator", "relevance"]

METHODS: dict[str, Callable[..., Floats]] = {
    "naive": naive_relevance,
    "ips": ips_relevance,
    "clipped": clipped_relevance,
    "snips": snips_relevance,
    "policy_aware": policy_aware_relevance,
    "affine": affine_relevance,
    "intervention_aware": intervention_aware_relevance,
    "direct_method": lambda seen, guess: guess,
    "doubly_robust": doubly_robust_relevance,
}


def relevance(
    log: Log, propensity: ClickBias | None, data: RankingDataset, *, method: str, **options: Any
) -> Floats:
    """The corrected relevance of each row, which may be negative; 0 for documents never shown.

    `method` is the name of a correction (`"ips"`, `"doubly_robust"`, ...), `options` are those of it.

    >>> from rankloop.clicks import ClickLog, TrustPBM
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> user = TrustPBM(relevant=[1.0, 0.5], other=[0.5, 0.0], attraction=0.5)
    >>> log = ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [0, 1])
    >>> relevance(log, user, data, method="affine")
    array([-1.,  2.])
    """
    return estimator(method, data, **options)(evidence(log, propensity, data))


def estimator(
    method: str,
    data: RankingDataset,
    *,
    relevance: ArrayLike | None = None,
    ranker: LambdaMART | None = None,
    folds: int = 2,
    seed: int = 0,
    **options: Any,
) -> Callable[[Evidence], Floats]:
    """From evidence to relevance, by name; a model of relevance is fitted once, on the first evidence."""
    chosen = METHODS[one_of("method", method, METHODS)]
    if method not in ("direct_method", "doubly_robust"):
        return lambda seen: chosen(seen, **options)
    fitted: list[Floats] = [] if relevance is None else [checked(relevance, data)]

    def modelling(seen: Evidence) -> Floats:
        if not fitted:
            fitted.append(modelled(seen, ranker, folds, seed))
        return chosen(seen, fitted[0], **options)

    return modelling
