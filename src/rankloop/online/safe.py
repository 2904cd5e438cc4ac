"""Learning that never falls below a floor, and that can go back."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.lists.discount import discount
from rankloop.online.bandits import Scorer
from rankloop.online.drift_alarm import DriftAlarm
from rankloop.online.models.kernels import top_k
from rankloop.online.models.state_file import flat, nested, read_state, write_state
from rankloop.online.pdgd import PDGD
from rankloop.online.ranking import Ranking

__all__ = ["Safe", "exposure_share"]


def exposure_share(shown: ArrayLike, production: ArrayLike, curve: ArrayLike) -> float:
    r"""How much of the exposure that production gives its own page this page gives to the same documents.

    .. math:: \sum_{d \in \mathrm{page}} \min(\theta_{\mathrm{here}}, \theta_{\mathrm{production}}) / \sum_r
    \theta_r

    1 for production's page itself, 0 for a page without any of its documents.

    >>> exposure_share([0, 2, 1], [0, 1, 2], [1.0, 0.5, 0.25])
    0.8571428571428571
    """
    seen = np.asarray(curve, dtype=np.float64)
    wanted = {int(document): seen[place] for place, document in enumerate(np.asarray(production))}
    here = sum(
        min(seen[place], wanted.get(int(document), 0.0)) for place, document in enumerate(np.asarray(shown))
    )
    return float(here / sum(wanted.values()))


class Safe:
    """PDGD whose every page keeps an exposure floor relative to production, with alarms and rollback.

    A page is drawn from Plackett-Luce given that it is safe: unsafe ones are drawn again, `tries` times,
    then production's page is shown and nothing is learned from it. Learning stays exact: the chances of a
    page and of the page with two documents swapped keep their ratio under the condition, and a pair whose
    swapped page would be unsafe tells nothing. When the reward of pages drifts down, the learner goes back
    to its last good state. `save` and `load` keep the learner, the states it can go back to, and the alarm.

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> class ByFirstFeature:
    ...     def predict(self, X): return X[:, 0]
    >>> safe = Safe(PDGD(LinearRanker(), seed=0), ByFirstFeature(), floor=0.8)
    >>> candidates = np.random.default_rng(0).normal(size=(20, 3))
    >>> pages = [safe.rank(candidates, k=5) for _ in range(50)]
    >>> min(page.notes["exposure"] for page in pages) >= 0.8
    True
    """

    name = "safe"

    def __init__(
        self,
        learner: PDGD,
        production: Scorer,
        *,
        floor: float = 0.7,
        curve: ArrayLike | None = None,
        tries: int = 50,
        alarm: DriftAlarm | None = None,
        snapshot_every: int = 1000,
    ) -> None:
        if not 0 <= floor <= 1:
            raise ValueError(f"floor is a share of production's exposure in [0, 1], got {floor}")
        if tries < 1 or snapshot_every < 1:
            raise ValueError("tries and snapshot_every are at least 1")
        self.learner, self.production = learner, production
        self.floor, self.tries = floor, tries
        self.curve = None if curve is None else np.asarray(curve, np.float64)
        self.alarm, self.snapshot_every = alarm, snapshot_every
        self.fallbacks = 0
        self.proposals_below = 0
        self.rollbacks = 0
        self._good: list[dict[str, Any]] = [learner.snapshot()]

    def rank(self, X: ArrayLike, k: int = 10) -> Ranking:
        rows = self.learner.model.rows(X)
        production = top_k(np.asarray(self.production.predict(rows), np.float64), k)
        curve = self._curve(len(production))
        for attempt in range(self.tries):
            page = self.learner.rank(rows, k)
            exposure = exposure_share(page.shown, production, curve)
            if attempt == 0 and exposure < self.floor:
                self.proposals_below += 1
            if exposure >= self.floor:
                notes = {
                    **page.notes,
                    "exposure": exposure,
                    "allowed": self._allowed(page.shown, production, curve),
                }
                return Ranking(rows, page.shown, notes)
        self.fallbacks += 1
        return Ranking(rows, production, {"by": self.name, "exposure": 1.0})

    def learn(self, ranking: Ranking, clicks: ArrayLike) -> None:
        clicked = ranking.clicks(clicks)
        if ranking.notes["by"] != self.name:
            self.learner.learn(ranking, clicked)
        if self.alarm is not None and self.alarm.update(float(clicked.any())):
            self.rollback()
            self.alarm.reset()
        elif self.learner.pages - self._good[-1]["pages"] >= self.snapshot_every:
            self._good = [*self._good[-1:], self.learner.snapshot()]

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The scores of now, without exploration and without the floor."""
        return self.learner.predict(X)

    def rollback(self) -> None:
        """Back to the snapshot before the last one: the last may already hold what went wrong."""
        self.learner.restore(self._good[0])
        self._good = self._good[:1]
        self.rollbacks += 1

    def save(self, path: str | Path) -> None:
        """Write the state to one file, whole or not at all; production has a file of its own."""
        states = {"now": self.learner.snapshot(), **{f"good{i}": one for i, one in enumerate(self._good)}}
        told: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for name, state in states.items():
            told[name], held = flat(state)
            arrays |= {f"{name}/{key}": value for key, value in held.items()}
        about = {
            "states": told,
            "fallbacks": self.fallbacks,
            "proposals_below": self.proposals_below,
            "rollbacks": self.rollbacks,
            "alarm": None if self.alarm is None else self.alarm.sum,
        }
        write_state(path, self.name, about, arrays)

    def load(self, path: str | Path) -> None:
        """Go on from a file that a safe learner of the same kind wrote."""
        about, arrays = read_state(path, self.name)
        states = {name: nested(told, arrays, f"{name}/") for name, told in about["states"].items()}
        self.learner.restore(states.pop("now"))
        self._good = list(states.values())
        self.fallbacks, self.rollbacks = about["fallbacks"], about["rollbacks"]
        self.proposals_below = about["proposals_below"]
        if self.alarm is not None:
            self.alarm.sum = about["alarm"] or 0.0

    def _curve(self, places: int) -> NDArray[np.float64]:
        if self.curve is None:
            return discount(np.arange(1, places + 1))
        if len(self.curve) < places:
            raise ValueError(f"the curve has {len(self.curve)} ranks, the page {places}")
        return self.curve[:places]

    def _allowed(
        self, shown: NDArray[np.int64], production: NDArray[np.int64], curve: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """For each pair of places whether the page with the two swapped is safe too."""
        places = len(shown)
        wanted = np.zeros(places)
        for place, document in enumerate(shown):
            at = np.flatnonzero(production == document)
            wanted[place] = curve[at[0]] if len(at) else 0.0
        kept = np.minimum(curve, wanted)
        crossed = np.minimum(curve[:, None], wanted[None, :])  # at a place, the document of another place
        swapped = kept.sum() - kept[:, None] - kept[None, :] + crossed + crossed.T
        safe: NDArray[np.bool_] = swapped / curve[: len(production)].sum() >= self.floor - 1e-12
        return safe
