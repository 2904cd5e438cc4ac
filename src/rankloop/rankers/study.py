"""The trials of a search for parameters."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._table import Table, Tabled
from rankloop.metrics import Metric
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Study", "Trial"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One set of parameters, its metric on each fold it was fitted on, and whether it was pruned.

    `folds` are the numbers of these folds, from 0; a pruned trial has some of them only.
    """

    params: dict[str, Any]
    values: list[float]
    pruned: bool
    folds: list[int]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else float("nan")


@dataclass(frozen=True, repr=False)
class Study(Tabled):
    """The result of `tune`: `best_params_`, `best_value_`, every trial and a table."""

    ranker: Ranker = field(repr=False)
    metric: Metric
    trials: list[Trial]

    @property
    def best_(self) -> Trial:
        finished = [trial for trial in self.trials if not trial.pruned and np.isfinite(trial.mean)]
        if not finished:
            raise ValueError(
                f"no trial has a finite {self.metric} on every fold, so none is the best; "
                "look at the labels of the folds, or take fewer folds"
            )
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return max(finished, key=lambda trial: sign * trial.mean)

    @property
    def best_params_(self) -> dict[str, Any]:
        return self.best_.params

    @property
    def best_value_(self) -> float:
        return self.best_.mean

    @property
    def estimates_(self) -> list[float]:
        """The mean of each trial; a pruned one is as far from finished ones as on the folds that it has."""
        finished = [trial for trial in self.trials if not trial.pruned and np.isfinite(trial.mean)]
        if not finished:
            return [trial.mean for trial in self.trials]
        level = np.mean([trial.values for trial in finished], axis=0)
        return [
            trial.mean + float(level.mean() - level[trial.folds].mean()) if trial.pruned else trial.mean
            for trial in self.trials
        ]

    def best_ranker(self) -> Ranker:
        """A ranker with the best parameters, not yet fitted."""
        made: Ranker = clone(self.ranker).set_params(**self.best_params_)
        return made

    def table(self) -> Table:
        """The trials, best first, pruned ones last, with estimates for these."""
        sign = -1.0 if self.metric.higher_is_better else 1.0
        both = zip(self.trials, self.estimates_, strict=True)
        ordered = sorted(both, key=lambda one: (one[0].pruned, sign * one[1]))
        names = list(self.trials[0].params)
        rows = [
            (
                *(_text(trial.params[name]) for name in names),
                f"{value:.4f}",
                f"{np.std(trial.values):.4f}",
                str(len(trial.values)),
            )
            for trial, value in ordered
        ]
        pruned = sum(trial.pruned for trial in self.trials)
        fits = sum(len(trial.values) for trial in self.trials)
        notes = [f"{len(self.trials)} trials, {pruned} pruned, {fits} fits"]
        return Table((*names, str(self.metric), "spread", "folds"), rows, notes=notes, left=len(names))

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": str(self.metric),
            "best_params": self.best_params_,
            "best_value": self.best_value_,
            "trials": [
                {"params": trial.params, "values": trial.values, "pruned": trial.pruned, "folds": trial.folds}
                for trial in self.trials
            ],
        }


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
