"""Settings that are measured fold by fold, for as long as they keep up with the best one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.base.paired import behind

__all__ = ["Race", "Runner"]

HOPELESS = 1.0  # standard errors behind the best on the queries so far, from which on a setting stops
Measure = Callable[[Mapping[str, Any], int], tuple[float, Floats]]


@dataclass(eq=False)
class Runner:
    """A setting, and its metric on the folds so far: the mean, and each query; higher is better."""

    params: dict[str, Any]
    values: list[float] = field(default_factory=list)
    each: list[Floats] = field(default_factory=list)


class Race:
    """Settings in the order in which they began, how many fits they took, and the best with all folds.

    `measure(params, fold)` fits a setting on a fold, and gives its mean and the metric of each query.

    >>> rng = np.random.default_rng(0)
    >>> race = Race(lambda params, fold: (params["C"], params["C"] + rng.random(50)), folds=3, prune=True)
    >>> [len(race.begin({"C": value}).values) for value in (0.2, 0.1, 0.9)], race.fits, race.best.params
    ([3, 1, 3], 7, {'C': 0.9})
    >>> race.resume(most=2), race.fits
    (True, 8)
    """

    def __init__(self, measure: Measure, folds: int, prune: bool) -> None:
        self.measure, self.folds, self.prune = measure, folds, prune
        self.runners: list[Runner] = []
        self.best: Runner | None = None
        self.fits = 0

    def begin(self, params: dict[str, Any]) -> Runner:
        """Measure a setting on all folds, or until it is clearly behind the best."""
        runner = Runner(params)
        self.runners.append(runner)
        self._advance(runner)
        while not self.finished(runner) and not (self.prune and self._hopeless(runner)):
            self._advance(runner)
        return runner

    def resume(self, most: int) -> bool:
        """Measure one more fold of the stopped setting least behind, of those that `most` fits can finish."""
        stopped = [
            one for one in self.runners if not self.finished(one) and self.folds - len(one.values) <= most
        ]
        if stopped:
            self._advance(min(stopped, key=self._lead_of_best))
        return bool(stopped)

    def finished(self, runner: Runner) -> bool:
        return len(runner.values) == self.folds

    def _advance(self, runner: Runner) -> None:
        value, each = self.measure(runner.params, len(runner.values))
        runner.values.append(value)
        runner.each.append(each)
        self.fits += 1
        valid = self.finished(runner) and np.isfinite(np.mean(runner.values))
        if valid and (self.best is None or self._lead_of_best(runner) < 0):
            self.best = runner

    def _hopeless(self, runner: Runner) -> bool:
        """Whether it is clearly behind on the queries that both have; noisy folds alone are not."""
        if self.best is None:
            return False
        ahead = self.best.each[: len(runner.each)]
        return behind(np.concatenate(runner.each), np.concatenate(ahead), HOPELESS)

    def _lead_of_best(self, runner: Runner) -> float:
        """How far the best is ahead on the folds that both have."""
        assert self.best is not None  # a setting stops only behind one with all folds
        return float(np.mean(self.best.values[: len(runner.values)]) - np.mean(runner.values))
