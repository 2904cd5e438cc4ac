"""Click-through rates as click models: the baselines every other model has to beat."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Cells, Counts
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.pages import Pages

__all__ = ["DocumentCTR", "GlobalCTR", "RankCTR", "RankDocumentCTR"]


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
        return self._make(seen, _rates("rate", cells, np.zeros_like(cells.pair), 1), rate=np.array([0.5]))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(np.full(len(pages), self._scalar("rate")), depth)


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
        return self._make(seen, _rates("rate", cells, cells.factor, seen.depth), rate=start)

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(np.ones(len(pages)), depth, examination=self._rank("rate", depth))


@dataclass(eq=False, kw_only=True, repr=False)
class DocumentCTR(ClickModel):
    """One click rate per (query, document), wherever it was shown.

    >>> DocumentCTR(attraction={0: 0.1, 1: 0.5}).click_probability([1, 0])
    array([0.5, 0.1])
    """

    attraction: Any = None

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        return self._make(seen, _rates("attraction", cells, cells.pair, seen.n_pairs))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(self._document("attraction", pages), depth)


@dataclass(eq=False, kw_only=True, repr=False)
class RankDocumentCTR(ClickModel):
    """One click rate per (query, document) and rank: no sharing between ranks, so it learns slowly.

    >>> RankDocumentCTR(attraction=0.2).click_probability([1, 0])
    array([0.2, 0.2])
    """

    attraction: Any = None

    from_features: ClassVar[bool] = False

    def _problem(self, seen: Evidence) -> Problem:
        cells = seen.cells()
        entry = cells.pair.astype(np.int64) * seen.depth + cells.factor
        size = seen.n_pairs * seen.depth
        problem = self._make(seen, _rates("attraction", cells, entry, size))
        problem.start["attraction"] = np.full(size, seen.first_rate)
        return problem

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(self._document("attraction", pages), depth)

    def _given(self, name: str, given: Any, seen: Evidence, like: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(super()._given(name, given, seen, like), seen.depth)

    def _stored(self, name: str, value: NDArray[np.float64], seen: Evidence, default: float) -> Any:
        return super()._stored(name, value.reshape(seen.n_pairs, seen.depth), seen, default)


def _rates(name: str, cells: Cells, entry: NDArray[Any], size: int) -> Any:
    clicks = np.bincount(entry, cells.clicks, size)
    shown = np.bincount(entry, cells.impressions, size)

    def expect(values: Values) -> tuple[float, Counts]:
        p = values[name]
        return float(np.sum(xlogy(clicks, p) + xlog1py(shown - clicks, -p))), {name: (clicks, shown)}

    return expect
