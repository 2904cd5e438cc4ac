"""Click-through rates by rank."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import rates
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["RankCTR"]


@dataclass(eq=False, kw_only=True, repr=False)
class RankCTR(ClickModel):
    """One click rate per rank.

    >>> RankCTR(rate=[0.3, 0.1]).click_probability([0, 0])
    array([0.3, 0.1])
    """

    rate: Any = None

    documents: ClassVar[tuple[str, ...]] = ()
    ranked: ClassVar[tuple[str, ...]] = ("rate",)

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        start = np.full(seen.depth, 0.5)
        return self._make(seen, rates("rate", cells, cells.factor, seen.depth), rate=start)

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(np.ones(len(pages)), depth, examination=self._rank("rate", depth))
