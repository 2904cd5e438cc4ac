"""The best parameters of a ranker, searched by many workers."""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, shards_of
from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.store import Store
from rankloop.metrics import Metric
from rankloop.metrics import metric as metric_of
from rankloop.rankers import Ranker, Study
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.space import Space
from rankloop.rankers.tune import Range, checked_space, fitted_with, new_race, trial

__all__ = ["tune"]

_STATE = "study.json"


def tune(
    ranker: Ranker,
    space: Mapping[str, Range],
    data: Shards | str | Path,
    metric: str | Metric = "ndcg@10",
    *,
    folds: int = 3,
    trials: int = 50,
    at_once: int = 4,
    hold_out: float = 0.0,
    seed: int = 0,
    backend: str = "local",
    workers: int | None = None,
    checkpoint: str | Path | None = None,
) -> Study:
    """Try parameters by expected improvement, `at_once` of them at a time, each on folds of whole shards.

    Every fold of every trial is fitted by one worker that reads the shards of the fold. The next settings
    are chosen by the results in the order of the trials, so the study depends on the seed and `at_once`
    only, not on the workers. No trial is pruned: there are `trials` of them. With `checkpoint` (a folder)
    finished trials are kept, and the same call resumes after them. `space` and the rest are as in
    `rankloop.tune`.
    """
    shards, judged = shards_of(data, "documents"), metric_of(metric)
    wanted = _checked(ranker, space, shards, folds, hold_out, at_once)
    sign = 1.0 if judged.higher_is_better else -1.0
    kept = _Kept(checkpoint, [ranker, space, shards.fingerprint, judged.name, folds, at_once, hold_out, seed])
    race = new_race(ranker, wanted, folds, False, seed)
    while len(race.runners) < trials:
        first = len(race.runners)
        begun = [race.begin() for _ in range(min(at_once, trials - first))]
        started = [one for one in begun if one is not None]
        if not started:
            break
        params = [one.params for one in started]
        values = kept.values(first, params)
        if values is None:
            found = over(
                _try,
                [
                    (shards.path, shards.fingerprint, ranker, one, judged, folds, fold, hold_out, seed)
                    for one in params
                    for fold in range(folds)
                ],
                backend=backend,
                workers=workers,
                title=f"tuning, trials {first + 1} to {first + len(started)} of {trials}",
            )
            values = [found[i : i + folds] for i in range(0, len(found), folds)]
            kept.add(first, params, values)
        for runner, reached in zip(started, values, strict=True):
            runner.values = [sign * reached[fold] for fold in runner.order]
    return Study(ranker, judged, [trial(one, sign) for one in race.runners])


def _checked(
    ranker: Ranker, space: Mapping[str, Range], shards: Shards, folds: int, hold_out: float, at_once: int
) -> Space:
    wanted = checked_space(ranker, space, hold_out)
    if not 2 <= folds <= len(each(shards)):
        raise ValueError(
            f"folds are made of whole shards: 2 to {len(each(shards))} here, got {folds}; write more shards"
        )
    if at_once < 1:
        raise ValueError(f"at_once is 1 or more trials, got {at_once}")
    return wanted


def _try(given: tuple[Any, ...]) -> float:
    path, fingerprint, ranker, params, judged, folds, fold, hold_out, seed = given
    train, test = _fold(path, fingerprint, folds, fold)
    fitted = fitted_with(ranker, params, train, hold_out, seed)
    signed = Objective.of(judged, test)(fitted.predict(test))
    return signed if judged.higher_is_better else -signed


@lru_cache(maxsize=1)
def _fold(path: str, fingerprint: str, folds: int, fold: int) -> tuple[RankingDataset, RankingDataset]:
    """The training and the test set of a fold; every shard is tested once."""
    shards = open_shards(path)
    if shards.fingerprint != fingerprint:
        raise ValueError(f"{path} holds other shards here than where the job started")
    filled = [i for i, entry in enumerate(shards.entries) if entry.rows]
    judged = filled[fold::folds]
    return shards.select([i for i in filled if i not in judged]).whole(), shards.select(judged).whole()


class _Kept:
    """Finished trials in a folder, in order."""

    def __init__(self, folder: str | Path | None, about: list[Any]) -> None:
        self.store = None if folder is None else Store(folder)
        self.trials: list[dict[str, Any]] = []
        self.about = blake2b(repr(about).encode(), digest_size=16).hexdigest()
        if self.store is not None and _STATE in self.store.sizes():
            state = json.loads(self.store.read(_STATE))
            if state["about"] != self.about:
                raise ValueError(
                    f"the checkpoint {self.store.path} is of another study (other data, ranker or space); "
                    "remove it or choose another folder"
                )
            self.trials = state["trials"]

    def values(self, first: int, params: list[dict[str, Any]]) -> list[list[float]] | None:
        """The results of the trials from `first` on, where all are known and have these settings."""
        known = self.trials[first : first + len(params)]
        same = [one["params"] for one in known] == [repr(one) for one in params]
        return [one["values"] for one in known] if same else None

    def add(self, first: int, params: list[dict[str, Any]], values: list[list[float]]) -> None:
        self.trials[first:] = [
            {"params": repr(one), "values": found} for one, found in zip(params, values, strict=True)
        ]
        if self.store is not None:
            self.store.write(_STATE, json.dumps({"about": self.about, "trials": self.trials}).encode())
