"""The position-based model with trust bias."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop._student import check_confidence
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Counts, mixture
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.linked import warn_if_apart
from rankloop.clicks.fitting.pages import Pages
from rankloop.clicks.fitting.slopes import Slopes, slopes_of

__all__ = ["TrustPBM"]


@dataclass(eq=False, kw_only=True, repr=False)
class TrustPBM(ClickModel):
    r"""Trust bias (Agarwal et al., 2019; Vardasbi et al., 2020): clicks are affine in relevance.

    .. math:: P(c = 1 \mid k) = \theta_k (\epsilon^+_k \gamma + \epsilon^-_k (1 - \gamma))
              = \alpha_k \gamma + \beta_k

    `relevant[k - 1]` is :math:`\theta_k \epsilon^+_k`, how often a relevant document is clicked there, and
    `other[k - 1]` is :math:`\theta_k \epsilon^-_k`. Fitting fixes `relevant` at 1 in rank 1. Clicks identify
    :math:`\alpha_k / \alpha_1`, but not how much of `other` is trust and how much is relevance (the priors
    decide): give `relevant` and `other` where they are known. `slopes` gives the ratios with intervals; `fit`
    warns where no documents link a rank to the first.

    >>> user = TrustPBM(relevant=[1.0, 0.5], other=[0.6, 0.1], attraction={0: 0.0, 1: 1.0})
    >>> user.click_probability([0, 1]), user.alpha(2)
    (array([0.6, 0.5]), array([0.4, 0.4]))
    """

    relevant: Any = None
    other: Any = None
    attraction: Any = None

    ranked: ClassVar[tuple[str, ...]] = ("relevant", "other")
    reads_ranks: ClassVar[bool] = True

    def alpha(self, depth: int) -> Floats:
        """The slope at each rank."""
        return self._rank("relevant", depth) - self._rank("other", depth)

    def beta(self, depth: int) -> Floats:
        """The intercept at each rank: clicks that do not depend on relevance."""
        return self._rank("other", depth)

    def slopes(self, log: ClickLog, *, confidence: float = 0.95, seed: int = 0) -> Slopes:
        r"""The ratios :math:`\alpha_k / \alpha_1` that a log identifies, with intervals.

        Where it does not, `identified` is False and the value nan.

        They are estimated from covariances of clicks on documents that moved, not by the likelihood, whose
        slopes are pulled by documents with few clicks: compare `alpha` with them.
        """
        check_confidence(confidence)
        return slopes_of(log, confidence, seed)

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()

        def expect(values: Values) -> tuple[float, Counts]:
            return mixture(cells, values["attraction"], values["relevant"], values["other"])

        rank = np.arange(1, seen.depth + 1)
        relevant, other = np.sqrt(1.0 / rank), 0.25 * seen.first_rate / rank
        problem = self._make(seen, expect, relevant=relevant, other=other)
        problem.held["relevant"] = rank == 1
        if self.relevant is None or self.other is None:
            problem.check = lambda values: warn_if_apart(cells, seen.depth)
        return problem

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        attraction = self._document("attraction", pages)
        return Behaviour.plain(attraction, depth, examination=self.alpha(depth), floor=self.beta(depth))
