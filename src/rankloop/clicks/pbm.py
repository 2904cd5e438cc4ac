"""The position-based model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.bound import warn_if_bound
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Counts, factors
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.pages import Pages

__all__ = ["PBM"]


@dataclass(eq=False, kw_only=True, repr=False)
class PBM(ClickModel):
    r"""Position-based model (Richardson et al., 2007; Craswell et al., 2008): examined and attractive.

    .. math:: P(c = 1 \mid q, d, k) = \theta_k \gamma_{qd}

    Only the product is identified, so :math:`\theta_1` is fixed at 1. Fits a `ClickLog` or an `Aggregate`.

    >>> user = PBM(examination=[1.0, 0.5, 0.25], attraction={0: 0.1, 1: 0.8})
    >>> user.click_probability([1, 1, 0])
    array([0.8  , 0.4  , 0.025])
    """

    examination: Any = None
    attraction: Any = None

    ranked: ClassVar[tuple[str, ...]] = ("examination",)
    reads_ranks: ClassVar[bool] = True

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()

        def expect(values: Values) -> tuple[float, Counts]:
            return factors(cells, values["attraction"], values["examination"])

        problem = self._make(seen, expect, examination=np.sqrt(1.0 / np.arange(1, seen.depth + 1)))
        problem.held["examination"] = np.arange(seen.depth) == 0
        problem.alike["examination"] = cells.relative_rates(seen.depth, 0)
        if self.examination is None:
            held = problem.held["examination"]
            problem.check = lambda values: warn_if_bound(cells, values, held, lambda rank: f"rank {rank + 1}")
        return problem

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        attraction = self._document("attraction", pages)
        return Behaviour.plain(attraction, depth, examination=self._rank("examination", depth))
