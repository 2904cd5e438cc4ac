"""The dependent click model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.chain import Chain
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Counts
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.pages import Pages

__all__ = ["DCM"]


@dataclass(eq=False, kw_only=True, repr=False)
class DCM(ClickModel):
    r"""Dependent click model (Guo, Liu & Wang, 2009): reads on after a click with :math:`\lambda_k`.

    .. math:: P(e_{k+1} \mid e_k, c_k = 0) = 1, \quad P(e_{k+1} \mid c_k = 1) = \lambda_k

    >>> DCM(attraction=0.5, continuation=[0.6, 0.4]).click_probability([0, 0])
    array([0.5, 0.4])
    """

    attraction: Any = None
    continuation: Any = None

    ranked: ClassVar[tuple[str, ...]] = ("continuation",)

    def _problem(self, seen: Evidence) -> Problem:
        clicks = Chain.of(seen, "DCM")
        depth = seen.depth
        earlier = clicks.pages.position[clicks.earlier] - 1
        final = clicks.pages.position[clicks.final_rows] - 1
        went_on = np.bincount(earlier, minlength=depth)
        decisions = (went_on + np.bincount(final, minlength=depth)).astype(np.float64)

        def expect(values: Values) -> tuple[float, Counts]:
            go_on = values["continuation"]
            tail = clicks.run(values["attraction"], go_on[final], 1.0)
            onward = went_on + np.bincount(final, tail.onward[clicks.final], depth)
            with np.errstate(divide="ignore"):
                value = tail.value + float(np.log(go_on[earlier]).sum())
            return value, {"attraction": (clicks.clicks, tail.read), "continuation": (onward, decisions)}

        return self._make(seen, expect, continuation=np.full(depth, 0.5))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        onward = self._rank("continuation", depth)
        return Behaviour.plain(self._document("attraction", pages), depth, after_click=onward)
