"""The dynamic Bayesian network click model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.chain import Chain
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Counts
from rankloop.clicks.fitting.fit import Problem, Values
from rankloop.clicks.fitting.pages import Pages, Shown, pages_of
from rankloop.clicks.fitting.parameters import ByPair, Product
from rankloop.data import RankingDataset

__all__ = ["DBN"]


@dataclass(eq=False, kw_only=True, repr=False)
class DBN(ClickModel):
    r"""Dynamic Bayesian network (Chapelle & Zhang, 2009): clicks if attracted, stops if satisfied or tired.

    .. math:: P(c = 1 \mid e) = a_d, \quad
              P(e_{k+1} \mid e_k, c_k) = g\,(1 - c_k s_d)

    Relevance is attraction times satisfaction. A click on the last document of a page has no information
    about satisfaction and is not counted for it.

    >>> user = DBN(attraction={0: 0.2, 1: 0.8}, satisfaction={0: 0.0, 1: 0.5}, continuation=0.9)
    >>> user.click_probability([1, 1])  # .8, then .8 * .9 * (1 - .8 * .5)
    array([0.8  , 0.432])
    """

    attraction: Any = None
    satisfaction: Any = None
    continuation: Any = None

    documents: ClassVar[tuple[str, ...]] = ("attraction", "satisfaction")
    scalars: ClassVar[tuple[str, ...]] = ("continuation",)

    def _problem(self, seen: Evidence) -> Problem:
        clicks = Chain.of(seen, type(self).__name__)
        pair_earlier, pair_final = clicks.pair[clicks.earlier], clicks.pair[clicks.final_rows]
        chosen = np.bincount(pair_earlier, minlength=seen.n_pairs) + np.bincount(
            pair_final, minlength=seen.n_pairs
        )

        def expect(values: Values) -> tuple[float, Counts]:
            g, s = float(values["continuation"][0]), values["satisfaction"]
            go_on = g * (1 - s[pair_final])
            tail = clicks.run(values["attraction"], go_on, g)
            onward = tail.onward[clicks.final]
            stopped = np.divide(s[pair_final], 1 - go_on, out=np.zeros(len(go_on)), where=go_on < 1)
            satisfied = (1 - onward) * stopped
            with np.errstate(divide="ignore"):
                value = tail.value + float(np.log(g * (1 - s[pair_earlier])).sum())
            again = len(pair_earlier)
            onwards = tail.skips_onward + again + float(onward.sum())
            decisions = tail.skips + again + float((1 - satisfied).sum())
            return value, {
                "attraction": (clicks.clicks, tail.read),
                "satisfaction": (np.bincount(pair_final, satisfied, seen.n_pairs), chosen.astype(np.float64)),
                "continuation": (np.array([onwards]), np.array([decisions])),
            }

        return self._make(seen, expect, continuation=np.array([0.9]))

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        g = self._scalar("continuation")
        keep = 1 - self._document("satisfaction", pages)
        return Behaviour.plain(
            self._document("attraction", pages), depth, keep=keep, after_click=g, after_skip=g
        )

    def relevance(self, shown: Shown, data: RankingDataset | None = None) -> Floats:
        pages = pages_of(shown, data)
        attraction = self._document("attraction", pages, ranked=False)
        return attraction * self._document("satisfaction", pages, ranked=False)

    @property
    def relevance_(self) -> Any:
        attraction, satisfaction = self._learned("attraction"), self._learned("satisfaction")
        if not (isinstance(attraction, ByPair) and isinstance(satisfaction, ByPair)):
            raise ValueError("relevance_ needs fitted attraction and satisfaction; use relevance(data)")
        return Product.of(attraction, satisfaction)
