"""The position-based model."""

from dataclasses import dataclass

import numpy as np

from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.examined import ExaminedModel
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["PBM"]


@dataclass(eq=False, kw_only=True, repr=False)
class PBM(ExaminedModel):
    r"""Position-based model (Richardson et al., 2007; Craswell et al., 2008): examined and attractive.

    .. math:: P(c = 1 \mid q, d, k) = \theta_k \gamma_{qd}

    Only the product is identified, so :math:`\theta_1` is fixed at 1. Fits a `ClickLog` or an `Aggregate`.

    >>> user = PBM(examination=[1.0, 0.5, 0.25], attraction={0: 0.1, 1: 0.8})
    >>> user.click_probability([1, 1, 0])
    array([0.8  , 0.4  , 0.025])
    """

    def _problem(self, seen: Evidence) -> Problem:
        start = np.sqrt(1.0 / np.arange(1, seen.depth + 1))
        return self._examined(seen, seen.cells(), start, 0, lambda rank: f"rank {rank + 1}")

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        attraction = self._document("attraction", pages)
        return Behaviour.plain(attraction, depth, examination=self._rank("examination", depth))
