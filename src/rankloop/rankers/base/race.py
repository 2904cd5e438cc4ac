"""Which setting a search measures next, and on which fold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.base.improvement import FoldModel
from rankloop.rankers.base.space import Space

__all__ = ["Race", "Runner"]

STARTUP = 6  # known or random settings that begin before any is chosen by what those before it reached
COST = 1.5  # fits that a new setting takes on average: most stop after the first
CANDIDATES = 512  # of which the most promising one is next
NEAR = 0.25  # of the steps of a grid with one place for each setting so far: what is so near was tried
MOST = 160  # settings, the best ones, that the model is fitted to


@dataclass(eq=False)
class Runner:
    """A setting, the folds in the order in which it takes them, and its values on those so far."""

    place: Floats
    params: dict[str, Any]
    order: list[int]
    values: list[float] = field(default_factory=list)

    @property
    def left(self) -> int:
        return len(self.order) - len(self.values)

    def folds(self) -> list[tuple[int, float]]:
        """The folds that it has, and the value on each."""
        return list(zip(self.order, self.values, strict=False))

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else np.nan


class Race:
    """Settings that begin with one fold, and go on where that promises more than a new setting does.

    Without `prune`, a setting that has begun has all folds. Settings take the folds in random order, so that
    no fold alone decides which of them go on, and begin only where enough fits are left to finish one.
    `known` settings come first. Values are better when higher; one that is not finite is as good as none.

    >>> race = Race(Space.of({"C": (0.0, 1.0)}), [{"C": 0.2}], folds=3, prune=True, seed=0)
    >>> for left in range(30, 0, -1):
    ...     runner, fold = race.next_fit(left)
    ...     runner.values.append(0.1 * fold - abs(runner.params["C"] - 0.7))
    >>> len(race.runners) > 12, round(race.best.params["C"], 1)
    (True, 0.7)
    """

    def __init__(
        self, space: Space, known: Sequence[Mapping[str, Any]], folds: int, prune: bool, seed: int
    ) -> None:
        self.space, self.folds, self.prune = space, folds, prune
        self.rng = np.random.default_rng(seed)
        self.runners: list[Runner] = []
        places = np.concatenate((space.places(known, self.rng), space.draw(CANDIDATES, self.rng)))
        first = np.sort(np.unique(places, axis=0, return_index=True)[1])
        given = [*known, *[{}] * CANDIDATES]
        self.starts = [(places[at], given[at]) for at in first[: max(STARTUP, len(known))]]

    @property
    def best(self) -> Runner | None:
        """The best setting with all folds."""
        done = [one for one in self.runners if not one.left and np.isfinite(one.mean)]
        return max(done, key=lambda one: one.mean, default=None)

    def next_fit(self, left: int) -> tuple[Runner, int] | None:
        """The setting to fit next, and the fold; None where nothing can be finished with so many fits."""
        runner = self._chosen(left)
        return None if runner is None else (runner, runner.order[len(runner.values)])

    def begin(self) -> Runner | None:
        """A new setting: a known one, or that of which most is expected; None where all were tried."""
        if self.starts:
            return self._begun(*self.starts.pop(0))
        places = self._candidates()
        gains = self._gains(places, [None] * len(places))
        return self._begun(places[int(gains.argmax())]) if len(places) else None

    def _chosen(self, left: int) -> Runner | None:
        begun = [one for one in self.runners if 0 < one.left <= left]
        if begun and not self.prune:
            return begun[0]
        begun = [one for one in begun if np.isfinite(one.values).all()]
        spent = sum(len(one.values) for one in self.runners)
        if left >= self.folds and (not begun or (self.starts and spent < left)):
            return self.begin()
        if not begun:
            return None
        if self.best is None:
            return next(one for one in self._ordered() if one in begun)
        places = np.array([one.place for one in begun])
        if left >= self.folds:
            places = np.concatenate((places, self._candidates()))
        new = len(places) - len(begun)
        gains = self._gains(places, [*begun, *[None] * new])
        chosen = int((gains / [*(one.left for one in begun), *[COST] * new]).argmax())
        return begun[chosen] if chosen < len(begun) else self._begun(places[chosen])

    def _begun(self, place: Floats, given: Mapping[str, Any] = MappingProxyType({})) -> Runner:
        (params,) = self.space.settings(place[None])
        for name, value in given.items():  # a place gives a number but for its last digits
            if not isinstance(self.space.ranges[name], list):
                params[name] = value
        runner = Runner(place, params, self.rng.permutation(self.folds).tolist())
        self.runners.append(runner)
        return runner

    def _candidates(self) -> Floats:
        """New settings, not near what was tried."""
        tried = np.array([one.place for one in self.runners])
        places = self.space.draw(CANDIDATES, self.rng)
        apart = self.space.apart(places, tried).max(axis=2).min(axis=1)
        near = NEAR * len(tried) ** (-1 / len(self.space.ranges))
        fresh: Floats = places[apart > (near if (apart > near).any() else 0.0)]
        return fresh

    def _ordered(self) -> list[Runner]:
        """The settings with values, best first by how far these lie above the medians of their folds.

        One that waits for its values counts as average.
        """
        middle = self._medians()

        def above(one: Runner) -> float:
            return float(np.mean([value - middle[fold] for fold, value in one.folds()] or [0.0]))

        return sorted((one for one in self.runners if np.isfinite(one.values).all()), key=above, reverse=True)

    def _medians(self) -> dict[int, float]:
        every = [pair for one in self.runners if np.isfinite(one.values).all() for pair in one.folds()]
        return {
            fold: float(np.median([value for where, value in every if where == fold]))
            for fold in {fold for fold, _ in every}
        }

    def _gains(self, places: Floats, own: Sequence[Runner | None]) -> Floats:
        """The expected improvement on the best, of new settings (None) and of those that have begun.

        Of a setting that the model leaves out, as others are better, none is expected.
        """
        best = self.best
        if best is None or not len(places):
            return np.zeros(len(places))
        tried, middle = self._ordered()[:MOST], self._medians()
        known = [
            (at, fold, value)
            for at, one in enumerate(tried)
            for fold, value in (one.folds() if one.values else middle.items())
        ]
        at, fold, values = map(np.array, zip(*known, strict=True))
        rows = np.array([one.place for one in tried])
        model = FoldModel(self.space.apart(rows, rows), at, fold, values, self.folds, self.rng)
        number = {id(one): at for at, one in enumerate(tried)}
        mine = np.array([-1 if one is None else number.get(id(one), -1) for one in own])
        left_out = [one is not None and id(one) not in number for one in own]
        gains = model.expected_improvement(self.space.apart(places, rows), mine, best.mean)
        return np.where(left_out, 0.0, gains)
