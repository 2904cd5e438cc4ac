"""What models share in which a click takes examination and attraction, each with a probability of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.bound import warn_if_bound
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Cells, Counts, factors
from rankloop.clicks.fitting.fit import Problem, Values

__all__ = ["ExaminedModel"]


@dataclass(eq=False, kw_only=True, repr=False)
class ExaminedModel(ClickModel):
    """A click has the probability examination times attraction; one examination is held at 1."""

    examination: Any = None
    attraction: Any = None

    ranked: ClassVar[tuple[str, ...]] = ("examination",)
    reads_ranks: ClassVar[bool] = True

    def _examined(
        self,
        seen: Evidence,
        cells: Cells,
        start: Floats,
        held: int,
        place: Callable[[int], str] | None = None,
    ) -> Problem:
        """The problem of these cells; `place` names an examination, to warn where one should be above 1."""

        def expect(values: Values) -> tuple[float, Counts]:
            return factors(cells, values["attraction"], values["examination"])

        problem = self._make(seen, expect, examination=start)
        fixed = np.arange(len(start)) == held
        problem.held["examination"] = fixed
        problem.alike["examination"] = cells.relative_rates(len(start), held)
        if place is not None and self.examination is None:
            problem.check = lambda values: warn_if_bound(cells, values, fixed, place)
        return problem
