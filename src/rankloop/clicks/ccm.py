"""The click chain model."""

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

__all__ = ["CCM"]


@dataclass(eq=False, kw_only=True, repr=False)
class CCM(ClickModel):
    r"""Click chain model (Guo et al., 2009): reading on after a click depends on what was clicked.

    .. math:: P(e_{k+1} \mid e_k, c_k = 0) = \tau_1, \quad
              P(e_{k+1} \mid c_k = 1) = \tau_2 (1 - a_d) + \tau_3 a_d

    >>> CCM(attraction=0.5, after_skip=0.9, after_poor=0.8, after_good=0.2).click_probability([0, 0])
    array([0.5 , 0.35])
    """

    attraction: Any = None
    after_skip: Any = None
    after_poor: Any = None
    after_good: Any = None

    scalars: ClassVar[tuple[str, ...]] = ("after_skip", "after_poor", "after_good")

    def _problem(self, seen: Evidence) -> Problem:
        clicks = Chain.of(seen, "CCM")
        n_pairs = seen.n_pairs
        final, earlier = clicks.pair[clicks.final_rows], clicks.pair[clicks.earlier]
        again = np.bincount(np.append(final, earlier), minlength=n_pairs)

        def expect(values: Values) -> tuple[float, Counts]:
            a, skip = values["attraction"], float(values["after_skip"][0])
            poor, good = float(values["after_poor"][0]), float(values["after_good"][0])
            go_on = poor * (1 - a) + good * a
            tail = clicks.run(a, go_on[final], skip)
            onward = tail.onward[clicks.final]
            with np.errstate(divide="ignore", invalid="ignore"):
                good_if_on = np.nan_to_num(good * a / go_on)
                good_if_off = np.nan_to_num((1 - good) * a / (1 - go_on))
                value = tail.value + float(np.log(go_on[earlier]).sum())
            good_on = onward * good_if_on[final]
            good_off = (1 - onward) * good_if_off[final]
            on = float(onward.sum()) + len(earlier)
            all_good_on = float(good_on.sum() + good_if_on[earlier].sum())
            all_good = all_good_on + float(good_off.sum())
            drawn = np.bincount(final, good_on + good_off, n_pairs)
            drawn = drawn + np.bincount(earlier, good_if_on[earlier], n_pairs)
            return value, {
                "attraction": (clicks.clicks + drawn, tail.read + again),
                "after_skip": (np.array([tail.skips_onward]), np.array([tail.skips])),
                "after_poor": (np.array([on - all_good_on]), np.array([again.sum() - all_good])),
                "after_good": (np.array([all_good_on]), np.array([all_good])),
            }

        start = {"after_skip": 0.9, "after_poor": 0.7, "after_good": 0.5}
        return self._make(seen, expect, **{name: np.array([value]) for name, value in start.items()})

    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        a = self._document("attraction", pages)
        keep = self._scalar("after_poor") * (1 - a) + self._scalar("after_good") * a
        return Behaviour.plain(a, depth, keep=keep, after_skip=self._scalar("after_skip"))
