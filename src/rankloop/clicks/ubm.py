"""The user browsing model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints32
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.examined import ExaminedModel
from rankloop.clicks.fitting.fit import Problem
from rankloop.clicks.fitting.pages import Pages

__all__ = ["UBM"]


@dataclass(eq=False, kw_only=True, repr=False)
class UBM(ExaminedModel):
    r"""User browsing model (Dupret & Piwowarski, 2008): examination depends on the last click too.

    .. math:: P(c_k = 1 \mid \text{last click at } l) = \theta_{k,l} \gamma_{qd}

    `examination[k - 1, l]` has one column per last click, `l = 0` for none; :math:`\theta_{1,0} = 1`.

    >>> matrix = [[1.0, 0.0, 0.0], [0.5, 0.9, 0.0]]
    >>> UBM(examination=matrix, attraction=0.5).click_probability([0, 0])
    array([0.5 , 0.35])
    """

    def _problem(self, seen: Evidence) -> Problem:
        pages = seen.pages_only("UBM")
        depth = seen.depth
        factor = (pages.position - 1) * np.int32(depth + 1) + last_click(pages)
        cells = seen.cells(factor.astype(np.int32), depth * (depth + 1))

        distance = np.arange(1, depth + 1)[:, None] - np.arange(depth + 1)
        start = 0.9 / np.sqrt(np.maximum(distance, 1.0))
        start[0, 0] = 1.0
        return self._examined(seen, cells, start.reshape(-1), 0, lambda at: _place(*divmod(at, depth + 1)))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        matrix = _matrix(self._learned("examination"), depth)
        return Behaviour.plain(self._document("attraction", pages), depth, examination=matrix)

    def _given(self, name: str, given: Any, seen: Evidence, like: Floats) -> Floats:
        if name == "examination":
            return _matrix(given, seen.depth).reshape(-1)
        return super()._given(name, given, seen, like)

    def _stored(self, name: str, value: Floats, seen: Evidence, problem: Problem) -> Any:
        if name == "examination":
            return value.reshape(seen.depth, seen.depth + 1)
        return super()._stored(name, value, seen, problem)


def last_click(pages: Pages) -> Ints32:
    """For each impression the position of the last click above it, 0 for none."""
    at = np.where(pages.clicks == 1, np.arange(len(pages)), -1)
    latest = np.concatenate(([-1], np.maximum.accumulate(at)[:-1]))
    inside = latest >= np.repeat(pages.offsets[:-1], np.diff(pages.offsets))
    return np.where(inside, pages.position[latest], 0).astype(np.int32)


def _place(rank: int, last: int) -> str:
    return f"rank {rank + 1}" + (f" after a click at {last}" if last else "")


def _matrix(given: Any, depth: int) -> Floats:
    matrix = np.asarray(given, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] < depth or matrix.shape[1] < depth + 1:
        raise ValueError(
            f"examination needs {depth} ranks × {depth + 1} last clicks, got shape {matrix.shape}"
        )
    if not np.all((matrix >= 0) & (matrix <= 1)):
        raise ValueError("examination holds probabilities between 0 and 1")
    return np.ascontiguousarray(matrix[:depth, : depth + 1])
