"""What tuning found."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._extras import require
from rankloop._table import Table
from rankloop.metrics import Metric
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Study", "Trial"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One set of parameters, its metric on each fold it was tried on, and whether it was given up early."""

    params: dict[str, Any]
    values: list[float]
    pruned: bool

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else float("nan")


@dataclass(frozen=True, repr=False)
class Study:
    """What `tune` found: `best_params_`, `best_value_`, every trial, a table and a plot."""

    ranker: Ranker = field(repr=False)
    metric: Metric
    trials: list[Trial]

    @property
    def best_(self) -> Trial:
        whole = [trial for trial in self.trials if not trial.pruned and np.isfinite(trial.mean)]
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return max(whole, key=lambda trial: sign * trial.mean)

    @property
    def best_params_(self) -> dict[str, Any]:
        return self.best_.params

    @property
    def best_value_(self) -> float:
        return self.best_.mean

    def best_ranker(self) -> Ranker:
        """A ranker with the best parameters, not yet fitted."""
        made: Ranker = clone(self.ranker).set_params(**self.best_params_)
        return made

    @property
    def table(self) -> Table:
        """The trials, best first; those given up early at the end."""
        sign = -1.0 if self.metric.higher_is_better else 1.0
        ordered = sorted(self.trials, key=lambda trial: (trial.pruned, sign * trial.mean))
        names = list(self.trials[0].params)
        rows = [
            (
                *(_text(trial.params[name]) for name in names),
                f"{trial.mean:.4f}",
                f"{np.std(trial.values):.4f}",
                str(len(trial.values)),
            )
            for trial in ordered
        ]
        given_up = sum(trial.pruned for trial in self.trials)
        notes = [f"{len(self.trials)} trials, {given_up} given up early"]
        return Table((*names, str(self.metric), "spread", "folds"), rows, notes=notes, left=len(names))

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": str(self.metric),
            "best_params": self.best_params_,
            "best_value": self.best_value_,
            "trials": [
                {"params": trial.params, "values": trial.values, "pruned": trial.pruned}
                for trial in self.trials
            ],
        }

    def plot(self) -> Any:
        """A matplotlib figure: the metric by each parameter, and the best so far by trial."""
        figures = require("matplotlib.figure", "report")
        names = list(self.trials[0].params)
        figure = figures.Figure(figsize=(3.2 * (len(names) + 1), 3.0), layout="constrained")
        panels = figure.subplots(1, len(names) + 1, sharey=True, squeeze=False)[0]
        whole = [trial for trial in self.trials if not trial.pruned]
        means = [trial.mean for trial in whole]
        best = np.maximum.accumulate(means) if self.metric.higher_is_better else np.minimum.accumulate(means)
        panels[0].plot(np.arange(1, len(whole) + 1), best, drawstyle="steps-post")
        panels[0].set(xlabel="trial", ylabel=str(self.metric), title="best so far")
        for name, panel in zip(names, panels[1:], strict=True):
            values = [trial.params[name] for trial in whole]
            numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
            panel.plot(values if numbers else [_text(value) for value in values], means, "o", alpha=0.6)
            if numbers and min(values) > 0 and max(values) / min(values) > 50:
                panel.set_xscale("log")
            panel.set_xlabel(name)
        return figure

    def __repr__(self) -> str:
        return self.table.text()

    def _repr_html_(self) -> str:
        return self.table.html()


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
