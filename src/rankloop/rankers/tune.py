"""The best parameters of a ranker, found over whole-query folds."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats
from rankloop._extras import require
from rankloop._names import unknown
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.rankers.auto.known_settings import known_settings
from rankloop.rankers.base.next_setting import next_setting, places, separation
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.race import Race, Runner
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.study import Study, Trial

__all__ = ["Range", "check_space", "fitted_with", "new_study", "next_trial", "silent", "suggest", "tune"]

Range = Sequence[Any] | Mapping[str, Any]
STARTUP = 8  # trials, of known or random settings, before any is chosen by those before it
NEAR = 0.25  # of the steps of a grid with one place for each trial so far: what is so near was tried
AGAIN = 10  # draws that were all nearly tried, after which any setting that was not is taken
_TABLE = ("low", "high", "log", "step")


def tune(
    ranker: Ranker,
    space: Mapping[str, Range],
    data: RankingDataset,
    metric: str | Metric = "ndcg@10",
    *,
    folds: int = 3,
    trials: int = 50,
    timeout: float | None = None,
    hold_out: float = 0.0,
    prune: bool = True,
    seed: int = 0,
) -> Study:
    """Search parameters by expected improvement (Jones et al., 1998), cross-validated by whole queries.

    The first trials are the parameters of `ranker` itself and settings that were good on other data, moved
    into the ranges, and where there are few of these random ones; then each is the setting from which a
    Gaussian process of the trials so far expects most. No setting is tried twice.

    `trials` is how many whole cross-validations the search may cost: `trials * folds` fits. A trial that is
    behind the best one, on the queries of the folds so far, is pruned, and the fits that it did not take go
    to further trials, so that there may be more than `trials` of them. Fits that are too few for a new trial
    go to the pruned ones that were least behind. Without `prune` there are `trials` trials, or fewer where
    a small space is exhausted.

    `space` names parameters (of parts too: `estimator__alpha`) and the values: a list of choices, a tuple
    `(low, high)` or `(low, high, "log")`, whole numbers when both ends are, or a table with `low`, `high`,
    `log` and `step`. `hold_out` is the share of a fold's training queries for early stopping.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> data = synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)
    >>> study = tune(RankSVM(), {"C": (0.01, 10.0, "log")}, data, trials=3, folds=2)
    >>> len(study.trials), list(study.best_params_)
    (3, ['C'])
    """
    require("optuna", "trees")
    check_space(ranker, space, hold_out)
    if not isinstance(trials, int) or trials < 1:
        raise ValueError(f"trials must be a whole number from 1, got {trials!r}")
    splits = list(data.folds(folds, seed=seed))
    objectives = [Objective.of(metric, test) for _, test in splits]
    sign = 1.0 if objectives[0].metric.higher_is_better else -1.0

    def measure(params: Mapping[str, Any], fold: int) -> tuple[float, Floats]:
        scores = fitted_with(ranker, params, splits[fold][0], hold_out, seed).predict(splits[fold][1])
        return objectives[fold](scores), sign * objectives[fold].values(scores)

    race = Race(measure, folds, prune)
    budget = trials * folds
    end = np.inf if timeout is None else time.monotonic() + timeout
    with silent(), progress("tuning", total=budget) as advance:

        def advanced(fits: int) -> None:
            note = "" if race.best is None else f" {sign * float(np.mean(race.best.values)):.4f}"
            advance(fits, f"{objectives[0].metric}{note}")

        study = new_study(ranker, space, seed)
        while race.fits + folds <= budget and (not race.fits or time.monotonic() < end):
            found = next_trial(study, space, [one.params for one in race.runners])
            if found is None:
                break
            runner = race.begin(found[1])
            _tell(study, found[0], runner, race.finished(runner))
            advanced(len(runner.values))
        while time.monotonic() < end and race.resume(budget - race.fits):
            advanced(1)
    done = [
        Trial(one.params, [sign * value for value in one.values], not race.finished(one))
        for one in race.runners
    ]
    return Study(ranker, objectives[0].metric, done)


def _tell(study: Any, trial: Any, runner: Runner, finished: bool) -> None:
    """Give Optuna's trial the means over its first folds, by which a pruned one is compared with the best."""
    state = require("optuna", "trees").trial.TrialState
    for fold in range(len(runner.values)):
        trial.report(float(np.mean(runner.values[: fold + 1])), fold + 1)
    if finished:
        study.tell(trial, float(np.mean(runner.values)))
    else:
        study.tell(trial, state=state.PRUNED)


@contextmanager
def silent() -> Iterator[None]:
    """Optuna tells no more than what goes wrong."""
    optuna = require("optuna", "trees")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def check_space(ranker: Ranker, space: Mapping[str, Range], hold_out: float) -> None:
    """Refuse a space that is empty, or names what is no parameter of the ranker, before the first trial."""
    if not space:
        raise ValueError("tune needs a space: the parameters to try, such as {'C': (0.1, 10.0, 'log')}")
    known = ranker.get_params()
    for name, range_ in space.items():
        if name not in known:
            raise unknown(f"parameter of {type(ranker).__name__}", name, known)
        _checked(name, range_)
    if not 0 <= hold_out < 1:
        raise ValueError(f"hold_out must be at least 0 and below 1, got {hold_out}")


def fitted_with(
    ranker: Ranker, params: Mapping[str, Any], train: RankingDataset, hold_out: float, seed: int
) -> Ranker:
    """The ranker with these parameters, fitted; the queries held out are for early stopping."""
    made: Ranker = clone(ranker).set_params(**params)
    return made.fit(*train.split(1 - hold_out, seed=seed)) if hold_out > 0 else made.fit(train)


def new_study(ranker: Ranker, space: Mapping[str, Range], seed: int) -> Any:
    """A study of Optuna that starts with the parameters of the ranker and with settings known to be good."""
    optuna = require("optuna", "trees")
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed))
    study.set_user_attr("seed", seed)
    ranges = {name: _checked(name, range_) for name, range_ in space.items()}
    for start in known_settings(type(ranker).__mro__, ranker.get_params(), ranges):
        study.enqueue_trial(start)
    return study


def next_trial(
    study: Any, space: Mapping[str, Range], tried: Sequence[Mapping[str, Any]]
) -> tuple[Any, dict[str, Any]] | None:
    """A trial of Optuna and its parameters, which were not tried; None where all were.

    A setting that was tried, or is nearly one that was, is drawn again.
    """
    optuna = require("optuna", "trees")
    ranges = {name: _checked(name, range_) for name, range_ in space.items()}
    before = places([_numbered(one, ranges) for one in tried], ranges)
    near = NEAR * max(len(tried), 1) ** (-1 / len(space))
    for draw in range(10 * AGAIN):
        given = bool(study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)))
        if not given and draw < AGAIN:
            _enqueue_best(study, ranges, near)
        trial = study.ask()
        params = {name: suggest(trial, name, range_) for name, range_ in space.items()}
        new = places([_numbered(params, ranges)], ranges)
        apart = separation(new, before, ranges).max(axis=2).min(initial=1.0)
        if apart > (0.0 if given or draw >= AGAIN else near):
            return trial, params
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return None


def _enqueue_best(study: Any, ranges: Mapping[str, Any], near: float) -> None:
    """Have the next trial be what the trials so far promise most of; with few trials, a random one.

    A pruned trial counts by its difference from the best on the folds that it had, one that still runs as
    the mean of the others.
    """
    state = require("optuna", "trees").trial.TrialState
    trials = study.get_trials(deepcopy=False, states=(state.COMPLETE, state.PRUNED, state.RUNNING))
    done = [one for one in trials if one.state == state.COMPLETE]
    if len(trials) < STARTUP or not done:
        return
    best = max(done, key=lambda one: one.value)
    values = np.full(len(trials), np.nan)
    for at, one in enumerate(trials):
        if one.state == state.COMPLETE:
            values[at] = one.value
        elif one.state == state.PRUNED:
            ahead = best.intermediate_values[one.last_step] - one.intermediate_values[one.last_step]
            values[at] = best.value - ahead
    values[np.isnan(values)] = np.nanmean(values)
    rng = np.random.default_rng([study.user_attrs["seed"], len(study.trials)])
    study.enqueue_trial(next_setting([one.params for one in trials], values, ranges, near, rng))


def _numbered(params: Mapping[str, Any], ranges: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with the number of each choice."""
    return {
        name: next(at for at, choice in enumerate(range_) if choice is params[name])
        if isinstance(range_, list)
        else params[name]
        for name, range_ in ranges.items()
    }


def suggest(trial: Any, name: str, range_: Range) -> Any:
    found = _checked(name, range_)
    if isinstance(found, list):
        return found[trial.suggest_categorical(name, range(len(found)))]
    whole = isinstance(found["low"], int) and isinstance(found["high"], int)
    return (trial.suggest_int if whole else trial.suggest_float)(name, **found)


def _checked(name: str, range_: Range) -> list[Any] | dict[str, Any]:
    """A list of choices, or Optuna's arguments: low, high and perhaps log and step."""
    if isinstance(range_, list):
        if not range_:
            raise ValueError(f"the space of {name} is empty; list the values to try")
        return range_
    if isinstance(range_, tuple):
        if len(range_) not in (2, 3) or range_[2:] not in ((), ("log",)):
            raise ValueError(
                f"the space of {name} is written (low, high) or (low, high, 'log'), got {range_}"
            )
        range_ = {"low": range_[0], "high": range_[1], "log": len(range_) == 3}
    if not isinstance(range_, Mapping) or not {"low", "high"} <= set(range_) <= set(_TABLE):
        raise ValueError(
            f"the space of {name} is a list of choices, a tuple (low, high) or a table with low, high, log "
            f"and step, got {range_!r}"
        )
    low, high, step = range_["low"], range_["high"], range_.get("step")
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)):
        raise ValueError(f"the space of {name} goes between two numbers, got {low!r} and {high!r}")
    if not low <= high < float("inf"):
        raise ValueError(f"the space of {name} goes from low to high, got {low} and {high}")
    if range_.get("log") and low <= 0:
        raise ValueError(f"the space of {name} is logarithmic and must start above 0, got {low}")
    if step is not None and (not isinstance(step, int | float) or step <= 0):
        raise ValueError(f"the step of {name} must be above 0, got {step!r}")
    if step is not None and range_.get("log"):
        raise ValueError(f"the space of {name} has a step or is logarithmic, not both; leave one out")
    return dict(range_)
