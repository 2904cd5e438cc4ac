"""The position-based model with one curve per page layout."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints32
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.examined import ExaminedModel
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages
from rankloop.clicks.fitting.parameters import by_rank
from rankloop.clicks.pbm import PBM

__all__ = ["ContextualPBM"]


@dataclass(eq=False, kw_only=True, repr=False)
class ContextualPBM(ExaminedModel):
    r"""Contextual PBM (Fang et al., 2019): examination depends on the layout of the page too.

    .. math:: P(c = 1 \mid q, d, k, l) = \theta_{l,k} \gamma_{qd}

    `examination` maps each layout to its curve. Documents shown in several layouts connect the curves, so
    only one first rank is fixed at 1: that of the layout in which it is clicked most.

    >>> user = ContextualPBM(examination={"phone": [1.0, 0.2], "desktop": [1.0, 0.6]}, attraction=0.5)
    >>> user.at("phone").click_probability([0, 0])
    array([0.5, 0.1])
    """

    def at(self, layout: str) -> PBM:
        """The position-based model of one layout."""
        curves = self._curves()
        if layout not in curves:
            raise ValueError(f"no curve for layout {layout!r}; there are {', '.join(sorted(curves))}")
        return PBM(examination=curves[layout], attraction=self._learned("attraction"))

    def _curves(self) -> dict[str, Any]:
        return {str(name): curve for name, curve in self._learned("examination").items()}

    def _problem(self, seen: Evidence) -> Problem:
        layouts = _layout_of_rows(seen.pages_only("ContextualPBM"))
        depth, number = seen.depth, len(self._layouts(seen))
        factor = layouts * np.int32(depth) + seen.pages.position - np.int32(1)
        cells = seen.cells(factor.astype(np.int32), depth * number)

        start = np.tile(1.0 / np.arange(1, depth + 1) ** 0.5, number)
        start[::depth] = 0.9
        shown = np.bincount(cells.factor, cells.impressions, len(start))[::depth]
        rate = np.bincount(cells.factor, cells.clicks, len(start))[::depth] / np.maximum(shown, 1)
        anchor = int(rate.argmax()) * depth
        start[anchor] = 1.0
        return self._examined(seen, cells, start, anchor)

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        layouts = _layout_of_rows(pages)
        curves = self._curves()
        names = [str(name) for name in pages.layout.table] if pages.layout is not None else []
        missing = [name for name in names if name not in curves]
        if missing:
            raise ValueError(f"no curve for layout {missing[0]!r}; there are {', '.join(sorted(curves))}")
        examination = np.stack([by_rank(curves[name], depth, "examination") for name in names])
        examined = examination[layouts, pages.position - 1]
        return Behaviour.plain(examined * self._document("attraction", pages), depth)

    def _layouts(self, seen: Evidence) -> list[str]:
        return [] if seen.pages.layout is None else [str(name) for name in seen.pages.layout.table]

    def _given(self, name: str, given: Any, seen: Evidence, like: Floats) -> Floats:
        if name == "examination":
            curves = [by_rank(given[layout], seen.depth, name) for layout in self._layouts(seen)]
            return np.concatenate(curves)
        return super()._given(name, given, seen, like)

    def _stored(self, name: str, value: Floats, seen: Evidence, problem: Problem) -> Any:
        if name == "examination":
            return dict(zip(self._layouts(seen), value.reshape(-1, seen.depth), strict=True))
        return super()._stored(name, value, seen, problem)


def _layout_of_rows(pages: Pages) -> Ints32:
    if pages.layout is None:
        raise ValueError(
            "ContextualPBM needs the layout of each page; add the column layout, or use .at(layout)"
        )
    return np.repeat(pages.layout.code, np.diff(pages.offsets))
