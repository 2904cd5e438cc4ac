"""One click-through rate for everything: the simplest baseline."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import rates
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["GlobalCTR"]


@dataclass(eq=False, kw_only=True, repr=False)
class GlobalCTR(ClickModel):
    """One click rate for everything.

    >>> GlobalCTR(rate=0.1).click_probability([0, 0])
    array([0.1, 0.1])
    """

    rate: Any = None

    documents: ClassVar[tuple[str, ...]] = ()
    scalars: ClassVar[tuple[str, ...]] = ("rate",)

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        return self._make(seen, rates("rate", cells, np.zeros_like(cells.pair), 1), rate=np.array([0.5]))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(np.full(len(pages), self._scalar("rate")), depth)
