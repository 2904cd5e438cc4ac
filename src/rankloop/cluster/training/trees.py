"""A forest trained by several workers, each on its own queries."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop.cluster.backends.backend import Member
from rankloop.cluster.training.collectives import lightgbm_team
from rankloop.cluster.training.job import TrainingJob
from rankloop.cluster.training.progress import reporting
from rankloop.data import RankingDataset
from rankloop.data.fingerprint import fingerprint
from rankloop.data.shards.shards import Shards
from rankloop.data.shards.store import Store
from rankloop.losses import loss, settle
from rankloop.metrics import metric
from rankloop.rankers import LambdaMART
from rankloop.rankers.saving.load import dumps, loads

__all__ = ["TreesJob", "check", "grow", "refuse_idle", "settled"]

_NETWORK = ("machines", "local_listen_port", "num_machines", "tree_learner", "pre_partition", "time_out")
_STATE = "state.json"


@dataclass(frozen=True)
class TreesJob(TrainingJob[LambdaMART]):
    """The training of a forest; with a checkpoint it is saved `every` so many trees."""

    every: int


def check(ranker: LambdaMART, every: int) -> None:
    if ranker.backend != "lightgbm":
        raise ValueError(
            f"several workers train trees with LightGBM only; use backend='lightgbm', not {ranker.backend!r}"
        )
    if ranker.callbacks:
        raise ValueError("callbacks would run in the workers, out of sight; leave them out")
    taken = [name for name in _NETWORK if name in (ranker.params or {})]
    if taken:
        raise ValueError(f"the job sets machines and ports itself; leave {taken[0]!r} out of params")
    if every < 1:
        raise ValueError(f"every is 1 or more trees, got {every}")


def refuse_idle(train: Shards, workers: int) -> None:
    if len(train.part(0, 1)) < workers:
        raise ValueError(
            f"{train.path} has fewer shards with rows than there are workers ({workers}); use fewer "
            "workers, or write more shards"
        )


def settled(ranker: LambdaMART, shards: Shards) -> LambdaMART:
    """A copy whose loss has the highest grade of all shards, which those of one worker may lack."""
    made: LambdaMART = clone(ranker)
    if isinstance(made.loss, str) and (made.loss == "lambdagap" or made.loss.startswith("backend:")):
        return made
    found = settle(loss(made.loss), np.array(shards.ranges.get("label", [0, 1]), np.float32))
    return made.set_params(loss=found)


def grow(job: TreesJob, member: Member) -> bytes:
    """The forest, the same in every member: all at once, or `every` trees at a time with a checkpoint."""
    refuse_idle(job.train, member.count)
    part = job.train.part(member.rank, member.count)
    own = part.whole()
    valid = job.valid_data()
    ranker, state = job.ranker, _State(job, valid, member.count)
    if member.rank == 0:
        member.report(state.trees)
    while not state.over:
        size = (
            ranker.trees - state.trees
            if job.checkpoint is None
            else min(job.every, ranker.trees - state.trees)
        )
        with lightgbm_team(member) as parallel:
            further: LambdaMART = clone(ranker).set_params(
                trees=size, init=state.made or ranker.init, params={**(ranker.params or {}), **parallel}
            )
            with reporting(member, "rankloop.rankers.lambdamart"), _quiet():
                further.fit(own, valid)
        state.take(further, size)
        if member.rank == 0:
            state.save()
    return dumps(state.finished(ranker, job.train.fingerprint))


class _State:
    """The state of a training: the forest so far, and whether it is finished."""

    def __init__(self, job: TreesJob, valid: RankingDataset | None, count: int) -> None:
        self.made: LambdaMART | None = None
        self.curve = np.zeros(0)
        self.best: float | None = None
        self.total = job.ranker.trees
        self.first = 0 if job.ranker.init is None else job.ranker.init.n_trees_
        self.sign = 1.0 if metric(job.ranker.metric).higher_is_better else -1.0
        self.over = False
        self.store = None if job.checkpoint is None else Store(job.checkpoint)
        if self.store is not None:
            self.about = _about(job, valid, count)
            self._resume(self.store)

    @property
    def trees(self) -> int:
        """Trees grown so far, without those of `init`."""
        return 0 if self.made is None else self.made.n_trees_ - self.first

    def take(self, further: LambdaMART, size: int) -> None:
        """Continue with a longer forest, unless it is no better on the validation set.

        Rounds count from the best of all pieces: once as many as the patience are no better, what comes later
        in the piece, which knows its own rounds only, is left out (not with smoothed stopping).
        """
        curve = further.curve_
        if len(curve):
            first = curve[: further.patience if further.stopping == "best" else None]
            if self.best is not None and (self.sign * first <= self.best).all():
                curve = first
            self.curve = np.concatenate((self.curve[: self.trees], curve))
            reached = float(np.max(self.sign * curve))
            if self.best is not None and reached <= self.best:
                self.over = True
                return
            self.best = reached
        stopped = 0 < len(further.curve_) < size
        whole = (
            self.trees + size >= self.total
        )  # the last rounds were tried, also where an earlier one is best
        self.made = further
        self.over = stopped or whole

    def save(self) -> None:
        if self.store is None or self.made is None:
            return
        name = f"forest-{self.trees:06d}.rank"
        self.store.write(name, dumps(_plain(self.made, self.total)))
        state = {
            "about": self.about,
            "forest": name,
            "best": self.best,
            "curve": self.curve.tolist(),
            "over": self.over,
        }
        self.store.write(_STATE, json.dumps(state).encode())
        for old in self.store.sizes():
            if old.startswith("forest-") and old != name:
                self.store.remove(old)

    def finished(self, ranker: LambdaMART, whole: str) -> LambdaMART:
        assert self.made is not None
        made = _plain(self.made, self.total)
        made.set_params(**{name: getattr(ranker, name) for name in ("trees", "params", "init")})
        made.curve_, made.fingerprint_ = self.curve, whole
        return made

    def _resume(self, store: Store) -> None:
        if _STATE not in store.sizes():
            return
        state = json.loads(store.read(_STATE))
        if state["about"] != self.about:
            raise ValueError(
                f"the checkpoint {store.path} is of another training (other data, parameters or number of "
                "workers); remove it or choose another folder"
            )
        made = loads(store.read(state["forest"]))
        assert isinstance(made, LambdaMART)
        self.made, self.best, self.over = made, state["best"], state["over"]
        self.curve = np.array(state["curve"])


def _about(job: TreesJob, valid: RankingDataset | None, count: int) -> str:
    """A digest of the data and parameters, by which a training recognises its checkpoint."""
    from rankloop.rankers.saving.codec import encode

    given = job.ranker.get_params(deep=False)
    parameters = {
        name: encode(value, name, {}) for name, value in given.items() if name not in ("init", "callbacks")
    }
    judged = None if valid is None else fingerprint(valid)
    before = None if job.ranker.init is None else blake2b(dumps(job.ranker.init)).hexdigest()
    facts = [parameters, job.train.fingerprint, judged, before, count, job.every]
    return blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _plain(made: LambdaMART, trees: int) -> LambdaMART:
    """The forest without machines, ports and numbers of pieces, which are no part of the model."""
    from rankloop.rankers.trees.lightgbm import LightGBMForest

    names = "|".join(_NETWORK)
    text = re.sub(rf"\n\[(?:{names}): [^\n]*\]", "", str(made.forest_.written()))
    text = re.sub(r"\n\[num_iterations: \d+\]", f"\n[num_iterations: {trees}]", text)
    made.forest_ = LightGBMForest(text)
    kept = {name: value for name, value in (made.params or {}).items() if name not in _NETWORK}
    made.set_params(params=kept or None, init=None)
    return made


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence LightGBM, which logs how it connects on the standard output."""
    import lightgbm

    class Silent:
        def info(self, message: str) -> None: ...

        def warning(self, message: str) -> None: ...

    before: Any = lightgbm.basic._LOGGER
    lightgbm.register_logger(Silent())
    try:
        yield
    finally:
        lightgbm.basic._LOGGER = before
