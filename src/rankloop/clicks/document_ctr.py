"""Click-through rates by (query, document)."""

from dataclasses import dataclass
from typing import Any

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import rates
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["DocumentCTR"]


@dataclass(eq=False, kw_only=True, repr=False)
class DocumentCTR(ClickModel):
    """One click rate per (query, document), at all ranks.

    >>> DocumentCTR(attraction={0: 0.1, 1: 0.5}).click_probability([1, 0])
    array([0.5, 0.1])
    """

    attraction: Any = None

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        return self._make(seen, rates("attraction", cells, cells.pair, seen.n_pairs))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(self._document("attraction", pages), depth)
