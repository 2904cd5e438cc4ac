"""Click-through rates by (query, document) and rank."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import rates
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["RankDocumentCTR"]


@dataclass(eq=False, kw_only=True, repr=False)
class RankDocumentCTR(ClickModel):
    """One click rate per (query, document) and rank; nothing is shared between ranks, so it needs much data.

    >>> RankDocumentCTR(attraction=0.2).click_probability([1, 0])
    array([0.2, 0.2])
    """

    attraction: Any = None

    from_features: ClassVar[bool] = False

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        entry = cells.pair.astype(np.int64) * seen.depth + cells.factor
        size = seen.n_pairs * seen.depth
        problem = self._make(seen, rates("attraction", cells, entry, size))
        problem.start["attraction"] = np.full(size, seen.first_rate)
        return problem

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(self._document("attraction", pages), depth)

    def _given(self, name: str, given: Any, seen: Evidence, like: Floats) -> Floats:
        return np.repeat(super()._given(name, given, seen, like), seen.depth)

    def _stored(self, name: str, value: Floats, seen: Evidence, problem: Problem) -> Any:
        return super()._stored(name, value.reshape(seen.n_pairs, seen.depth), seen, problem)

    def _rank_of_entry(self, seen: Evidence) -> Ints:
        return np.tile(np.arange(seen.depth), seen.n_pairs)
