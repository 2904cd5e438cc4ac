r"""How clicks depend on the rank: :math:`P(c = 1 \mid k) = \alpha_k \gamma + \beta_k`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints32
from rankloop.clicks import ClickModel, TrustPBM
from rankloop.propensity import Propensity

__all__ = ["Bias", "ClickBias", "bias_of", "by_page", "by_rank", "refuse_trust"]

ClickBias = Propensity | ClickModel | ArrayLike | Mapping[str, Propensity]


@dataclass(frozen=True, eq=False)
class Bias:
    """Slope and intercept of the clicks at each rank; a position-based user has intercept 0."""

    alpha: Floats
    beta: Floats

    def at(self, position: Ints32) -> tuple[Floats, Floats]:
        deepest = int(position.max(initial=1))
        if deepest > len(self.alpha):
            raise ValueError(
                f"the curve has ranks 1 to {len(self.alpha)}, but the log shows rank {deepest}; "
                "estimate a longer curve or drop the impressions below it"
            )
        return self.alpha[position - 1], self.beta[position - 1]


def by_rank(propensity: ClickBias | None) -> bool:
    """Whether examination depends on the rank alone, and not on the layout or the clicks above too."""
    return isinstance(propensity, TrustPBM) or not isinstance(propensity, Mapping | ClickModel)


def by_page(propensity: ClickBias | None) -> bool:
    """Whether examination depends on the clicks above."""
    return isinstance(propensity, ClickModel) and not isinstance(propensity, TrustPBM)


def bias_of(propensity: ClickBias | None, depth: int) -> Bias:
    """From a propensity curve (or its values) or a user with trust bias; None: every rank is examined."""
    if propensity is None:
        return Bias(np.ones(depth), np.zeros(depth))
    if isinstance(propensity, TrustPBM):
        alpha, beta = propensity.alpha(depth), propensity.beta(depth)
    else:
        curve = propensity.values if isinstance(propensity, Propensity) else propensity
        alpha = np.array(curve, np.float64)
        beta = np.zeros(alpha.shape)
    if alpha.ndim != 1 or len(alpha) == 0 or not np.all(np.isfinite(alpha)) or not np.all(alpha > 0):
        raise ValueError(
            f"a propensity is one number above 0 per rank, got {alpha}; "
            "estimate it with rankloop.propensity, or pass a Propensity, its values or a TrustPBM"
        )
    return Bias(alpha, beta)


def refuse_trust(beta: Floats, method: str) -> None:
    """An error if there is trust bias: methods that only divide cannot subtract its clicks."""
    if np.any(beta != 0):
        raise ValueError(
            f"{method} divides by a propensity and keeps the clicks that come from trust bias; "
            "use affine, intervention_aware or doubly_robust"
        )
