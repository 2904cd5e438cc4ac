"""Whether an old propensity curve still holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, f, norm, t

from rankloop._student import check_confidence
from rankloop.clicks import Aggregate, ClickLog
from rankloop.propensity.estimate import estimate
from rankloop.propensity.propensity import Propensity

__all__ = ["Drift", "drift"]


@dataclass(frozen=True, repr=False)
class Drift:
    """Whether a new curve differs from an old one by more than chance."""

    holds: bool
    p_value: float  # of the hypothesis that both are the same curve, over all ranks
    ranks: tuple[int, ...]  # that differ on their own (Holm's correction, same confidence)
    old: Propensity
    new: Propensity

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "p_value": self.p_value,
            "ranks": list(self.ranks),
            "old": self.old.to_dict(),
            "new": self.new.to_dict(),
        }

    def __repr__(self) -> str:
        verdict = "the old curve holds" if self.holds else "the old curve no longer holds; estimate a new one"
        lines = [f"{verdict} (p = {self.p_value:.3g})", "rank     old     new"]
        for rank, (old, new) in enumerate(zip(self.old.values, self.new.values, strict=False), 1):
            lines.append(f"{rank:>4}  {old:.4f}  {new:.4f}{'  differs' if rank in self.ranks else ''}")
        return "\n".join(lines)


def drift(
    old: Propensity, new: Propensity | ClickLog | Aggregate, *, confidence: float = 0.99, **options: Any
) -> Drift:
    r"""Test whether `new` (a curve, or a log to estimate it from) has the same curve as `old`.

    .. math:: \delta^\top (\Sigma_{new} + \Sigma_{old})^{-1} \delta, \qquad \delta = \log\theta / \theta_{old}

    is compared with the distribution of Hotelling's T² (chi-squared where the covariances rest on many
    queries and people): an unchanged curve holds with probability `confidence`. Curves of different layouts
    are not comparable.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=20_000, k=4, randomize="shuffle", seed=0)
    >>> drift(Propensity.given([1, 1 / 2, 1 / 3, 1 / 4]), log).holds
    True
    >>> drift(Propensity.given([1, 0.8, 0.7, 0.6]), log).ranks
    (2, 3, 4)
    """
    check_confidence(confidence)
    if isinstance(new, Propensity):
        fresh = new
    else:
        if old.layout is not None and isinstance(new, ClickLog) and new.page_layout is not None:
            options.setdefault("layout", old.layout)
        fresh = estimate(new, **options)
    if old.layout is not None and fresh.layout is not None and old.layout != fresh.layout:
        raise ValueError(
            f"the old curve is of layout {old.layout!r}, the new of {fresh.layout!r}: a new layout needs a "
            "new curve; estimate one for it"
        )
    ranks = min(len(old), len(fresh))
    if ranks < 2:
        raise ValueError("curves are compared at rank 2 and below; one of them has rank 1 only")
    spread = np.zeros((ranks, ranks))
    for one in (old, fresh):
        if one.log_covariance is not None:
            spread += one.log_covariance[:ranks, :ranks]
    apart = (np.log(fresh.values[:ranks]) - np.log(old.values[:ranks]))[1:]
    spread = spread[1:, 1:]
    if not np.all(np.diag(spread) > 0):
        raise ValueError("neither curve has a covariance, so the difference cannot be tested")
    distance = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
    freedom = _freedom(old, fresh, ranks)
    p_value = _p_value(distance, ranks - 1, freedom)
    ratios = np.abs(apart) / np.sqrt(np.diag(spread))
    single = 2 * (norm.sf(ratios) if freedom is None else t.sf(ratios, freedom))
    order = np.argsort(single)
    passed = np.minimum.accumulate(single[order] <= (1 - confidence) / np.arange(ranks - 1, 0, -1))
    differ = tuple(sorted((order[passed] + 2).tolist()))
    return Drift(p_value >= 1 - confidence, p_value, differ, old, fresh)


def _freedom(old: Propensity, new: Propensity, ranks: int) -> float | None:
    """The degrees of freedom behind the sum of both covariances (Satterthwaite); None if unknown."""
    traces = [
        (float(np.trace(one.log_covariance[:ranks, :ranks])), one.units)
        for one in (old, new)
        if one.log_covariance is not None and one.units is not None
    ]
    if not traces:
        return None
    total = sum(trace for trace, _ in traces)
    return total**2 / sum(trace**2 / max(units - 1.0, 1.0) for trace, units in traces)


def _p_value(distance: float, width: int, freedom: float | None) -> float:
    if freedom is None:
        return float(chi2.sf(distance, width))
    left = max(freedom - width + 1.0, 1.0)
    return float(f.sf(distance * left / (max(freedom, left) * width), width, left))
