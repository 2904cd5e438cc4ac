"""Learning with an exposure floor on every page, an alarm and rollback."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Bools, Floats, Ints
from rankloop.lists.discount import discount
from rankloop.online.bandits.bandit import Scorer
from rankloop.online.drift_alarm import DriftAlarm
from rankloop.online.exposure_share import exposure_share
from rankloop.online.models.kernels import top_k
from rankloop.online.models.saved_state import flat, nested, read_state, write_state
from rankloop.online.pdgd import PDGD
from rankloop.online.ranking import Ranking

__all__ = ["Safe"]


class Safe:
    """PDGD whose pages stay close to production's (a floor of exposure), with an alarm and rollback.

    A page is sampled from Plackett-Luce under the condition that it is safe: unsafe ones are sampled again,
    up to `tries` times, then production's page is shown and nothing is learned from it. Learning stays exact:
    conditioning keeps the ratio of the probabilities of a page and of the page with two documents swapped,
    and a pair whose swapped page would be unsafe is skipped. When the alarm finds that rewards drift down,
    the learner is rolled back; while they only seem to (None), no state is kept to roll back to. `last_alarm`
    says why. `save` and `load` keep the learner, its rollback
    states and the alarm.

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
        self.last_alarm = ""
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

    def learn(
        self,
        ranking: Ranking,
        clicks: ArrayLike,
        *,
        user: Hashable = None,
        normal: float | None = None,
        day: Hashable = None,
    ) -> None:
        """Learn from the clicks on a page; `user`, `normal` and `day` are those of `DriftAlarm.update`."""
        clicked = ranking.clicks(clicks)
        if ranking.notes["by"] != self.name:
            self.learner.learn(ranking, clicked)
        fallen: bool | None = False
        if self.alarm is not None:
            fallen = self.alarm.update(float(clicked.any()), user=user, normal=normal, day=day)
            if fallen is not False:
                self.last_alarm = self.alarm.reason
        if fallen:
            self.rollback()
        elif fallen is False and self.learner.pages - self._good[-1]["pages"] >= self.snapshot_every:
            self._good = [*self._good[-1:], self.learner.snapshot()]

    def predict(self, X: ArrayLike) -> Floats:
        """The current scores, without exploration and without the floor."""
        return self.learner.predict(X)

    def rollback(self) -> None:
        """Return to the snapshot before the last one: the last may already hold what went wrong."""
        self.learner.restore(self._good[0])
        self._good = self._good[:1]
        self.rollbacks += 1
        if self.alarm is not None:
            self.alarm.reset()

    def save(self, path: str | Path) -> None:
        """Write the state to one file, whole or not at all; production is saved elsewhere."""
        states = {"now": self.learner.snapshot(), **{f"good{i}": one for i, one in enumerate(self._good)}}
        parts: dict[str, Any] = {}
        arrays: dict[str, Array] = {}
        for name, state in states.items():
            parts[name], of_state = flat(state)
            arrays |= {f"{name}/{key}": value for key, value in of_state.items()}
        about = {
            "states": parts,
            "fallbacks": self.fallbacks,
            "proposals_below": self.proposals_below,
            "rollbacks": self.rollbacks,
            "alarm": None if self.alarm is None else self.alarm.sum,
            "seeming": None if self.alarm is None else self.alarm.seeming,
        }
        write_state(path, self.name, about, arrays)

    def load(self, path: str | Path, *, largest: int | None = None) -> None:
        """Continue from a file that a safe learner of the same kind saved; `largest` as in `Learner.load`."""
        about, arrays = read_state(path, self.name, largest)
        states = {name: nested(part, arrays, f"{name}/") for name, part in about["states"].items()}
        self.learner.restore(states.pop("now"))
        self._good = list(states.values())
        self.fallbacks, self.rollbacks = about["fallbacks"], about["rollbacks"]
        self.proposals_below = about["proposals_below"]
        if self.alarm is not None:
            self.alarm.sum = about["alarm"] or 0.0
            self.alarm.seeming = about.get("seeming") or self.alarm.sum

    def _curve(self, places: int) -> Floats:
        if self.curve is None:
            return discount(np.arange(1, places + 1))
        if len(self.curve) < places:
            raise ValueError(f"the curve has {len(self.curve)} ranks, the page {places}")
        return self.curve[:places]

    def _allowed(self, shown: Ints, production: Ints, curve: Floats) -> Bools:
        """For each pair of places, whether the page with the two swapped is safe too."""
        places = len(shown)
        wanted = np.zeros(places)
        for place, document in enumerate(shown):
            at = np.flatnonzero(production == document)
            wanted[place] = curve[at[0]] if len(at) else 0.0
        kept = np.minimum(curve, wanted)
        crossed = np.minimum(curve[:, None], wanted[None, :])  # at a place, the document of another place
        swapped = kept.sum() - kept[:, None] - kept[None, :] + crossed + crossed.T
        safe: Bools = swapped / curve[: len(production)].sum() >= self.floor - 1e-12
        return safe
