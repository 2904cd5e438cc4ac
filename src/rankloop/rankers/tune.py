"""The best parameters of a ranker, found over whole-query folds."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._names import unknown
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.rankers.base.known_settings import known_settings
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.race import Race, Runner
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.base.space import Range, Space
from rankloop.rankers.study import Study, Trial

__all__ = ["Range", "checked_space", "fitted_with", "new_race", "trial", "tune"]


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
    into the ranges, and where there are few of these random ones. Gaussian processes of all values so far
    then choose each next fit: a new setting on one fold, or one more fold of a setting that has begun,
    whichever promises the larger improvement for its fits. The folds of a setting come in random order, and
    no setting is tried twice.

    `trials` is how many whole cross-validations the search may cost: `trials * folds` fits. A trial that does
    not get all folds is pruned, so there may be more than `trials` of them. Without `prune` there are
    `trials` whole ones, or fewer where a small space is exhausted.

    `space` names parameters (of parts too: `estimator__alpha`) and the values: a list of choices, a tuple
    `(low, high)` or `(low, high, "log")`, whole numbers when both ends are, or a table with `low`, `high`,
    `log` and `step`. `hold_out` is the share of a fold's training queries for early stopping.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> data = synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)
    >>> study = tune(RankSVM(), {"C": (0.01, 10.0, "log")}, data, trials=3, folds=2)
    >>> len(study.trials) >= 3, list(study.best_params_)
    (True, ['C'])
    """
    wanted = checked_space(ranker, space, hold_out)
    if not isinstance(trials, int) or trials < 1:
        raise ValueError(f"trials must be a whole number from 1, got {trials!r}")
    splits = list(data.folds(folds, seed=seed))
    objectives = [Objective.of(metric, test) for _, test in splits]
    sign = 1.0 if objectives[0].metric.higher_is_better else -1.0
    race = new_race(ranker, wanted, folds, prune, seed)
    end = np.inf if timeout is None else time.monotonic() + timeout
    with progress("tuning", total=trials * folds) as advance:
        for left in range(trials * folds, 0, -1):
            best, late = race.best, bool(race.runners) and time.monotonic() >= end
            found = None if late and best else race.next_fit(min(left, folds - 1) if late else left)
            if found is None:
                break
            runner, fold = found
            train, test = splits[fold]
            scores = fitted_with(ranker, runner.params, train, hold_out, seed).predict(test)
            runner.values.append(objectives[fold](scores))
            advance(1, str(objectives[0].metric) + ("" if best is None else f" {sign * best.mean:.4f}"))
    return Study(ranker, objectives[0].metric, [trial(one, sign) for one in race.runners])


def trial(runner: Runner, sign: float) -> Trial:
    """What a study keeps of a setting: its values by fold, in the sense of the metric."""
    folds = sorted(runner.folds())
    return Trial(
        runner.params, [sign * value for _, value in folds], runner.left > 0, [fold for fold, _ in folds]
    )


def new_race(ranker: Ranker, space: Space, folds: int, prune: bool, seed: int) -> Race:
    """A race that starts with the parameters of the ranker and with settings known to be good."""
    known = known_settings(type(ranker).__mro__, ranker.get_params(), space.ranges)
    return Race(space, list(known), folds, prune, seed)


def checked_space(ranker: Ranker, space: Mapping[str, Range], hold_out: float) -> Space:
    """The space, which must not be empty nor name what is no parameter of the ranker."""
    if not space:
        raise ValueError("tune needs a space: the parameters to try, such as {'C': (0.1, 10.0, 'log')}")
    known = ranker.get_params()
    for name in space:
        if name not in known:
            raise unknown(f"parameter of {type(ranker).__name__}", name, known)
    if not 0 <= hold_out < 1:
        raise ValueError(f"hold_out must be at least 0 and below 1, got {hold_out}")
    return Space.of(space)


def fitted_with(
    ranker: Ranker, params: Mapping[str, Any], train: RankingDataset, hold_out: float, seed: int
) -> Ranker:
    """The ranker with these parameters, fitted; the queries held out are for early stopping."""
    made: Ranker = clone(ranker).set_params(**params)
    return made.fit(*train.split(1 - hold_out, seed=seed)) if hold_out > 0 else made.fit(train)
