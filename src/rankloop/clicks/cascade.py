"""The cascade model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.chain import Chain
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Counts
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.pages import Pages

__all__ = ["Cascade"]


@dataclass(eq=False, kw_only=True, repr=False)
class Cascade(ClickModel):
    r"""Cascade model (Craswell et al., 2008): reads down to the first click and stops.

    .. math:: P(c_k = 1) = a_k \prod_{j < k} (1 - a_j)

    A page with two clicks is impossible: its log-likelihood is `-inf`; `fit` uses it down to the first click.

    >>> Cascade(attraction={0: 0.5, 1: 1.0}).click_probability([0, 1, 1])
    array([0.5, 0.5, 0. ])
    """

    attraction: Any = None

    def _problem(self, seen: Evidence) -> Problem:
        clicks = Chain.of(seen, "Cascade", stop_at_first=True)
        never = np.zeros(len(clicks.final))

        def expect(values: Values) -> tuple[float, Counts]:
            tail = clicks.run(values["attraction"], never, 1.0)
            return tail.value, {"attraction": (clicks.clicks, tail.read)}

        return self._make(seen, expect)

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        return Behaviour.plain(self._document("attraction", pages), depth, after_click=0.0)
