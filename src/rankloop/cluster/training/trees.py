"""A forest grown by several workers, each on its own queries."""

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
from rankloop.cluster.training.progress import telling
from rankloop.data import RankingDataset
from rankloop.data.fingerprint import fingerprint
from rankloop.data.shards.shards import Shards
from rankloop.data.shards.store import Store
from rankloop.losses import loss, settle
from rankloop.metrics import metric
from rankloop.rankers import LambdaMART
from rankloop.rankers.saving.load import dumps, loads

__all__ = ["Work", "check", "grow", "refuse_idle", "settled"]

_NETWORK = ("machines", "local_listen_port", "num_machines", "tree_learner", "pre_partition", "time_out")
_STATE = "state.json"


@dataclass(frozen=True)
class Work:
    """What every member is given."""

    ranker: LambdaMART
    train: Shards
    valid: Shards | RankingDataset | None
    checkpoint: str | None
    every: int


def check(ranker: LambdaMART, every: int) -> None:
    if ranker.backend != "lightgbm":
        raise ValueError(
            f"trees of several workers are LightGBM's; take backend='lightgbm', not {ranker.backend!r}"
        )
    if ranker.callbacks:
        raise ValueError("callbacks would run in the workers, where nobody sees them; leave them out")
    taken = [name for name in _NETWORK if name in (ranker.params or {})]
    if taken:
        raise ValueError(
            f"the job finds out about machines and ports itself; leave {taken[0]!r} out of params"
        )
    if every < 1:
        raise ValueError(f"every is 1 or more trees, got {every}")


def refuse_idle(train: Shards, workers: int) -> None:
    if len(train.part(0, 1)) < workers:
        raise ValueError(
            f"{train.path} has fewer shards with rows than there are workers ({workers}); take fewer "
            "workers, or write more shards"
        )


def settled(ranker: LambdaMART, shards: Shards) -> LambdaMART:
    """A copy whose loss knows the best grade of all shards, which a worker's own may lack."""
    made: LambdaMART = clone(ranker)
    if isinstance(made.loss, str) and (made.loss == "lambdagap" or made.loss.startswith("backend:")):
        return made
    found = settle(loss(made.loss), np.array(shards.ranges.get("label", [0, 1]), np.float32))
    return made.set_params(loss=found)  # type: ignore[no-any-return] # scikit-learn has no types


def grow(work: Work, member: Member) -> bytes:
    """The forest, the same in every member: all at once, or `every` trees at a time with a checkpoint."""
    refuse_idle(work.train, member.count)
    part = work.train.part(member.rank, member.count)
    own = part.whole()
    valid = work.valid.whole() if isinstance(work.valid, Shards) else work.valid
    ranker, state = work.ranker, _State(work, valid, member.count)
    if member.rank == 0:
        member.tell(state.trees)
    while not state.over:
        size = (
            ranker.trees - state.trees
            if work.checkpoint is None
            else min(work.every, ranker.trees - state.trees)
        )
        network = member.network() if member.count > 1 else {}
        parallel = {"tree_learner": "data", "pre_partition": True, **network} if network else {}
        further: LambdaMART = clone(ranker).set_params(
            trees=size, init=state.made or ranker.init, params={**(ranker.params or {}), **parallel}
        )
        with telling(member, "rankloop.rankers.lambdamart"), _quiet():
            further.fit(own, valid)
        state.take(further, size)
        if member.rank == 0:
            state.keep()
    return dumps(state.finished(ranker, work.train.fingerprint))


class _State:
    """Where a training stands: the forest so far, and whether it is the end."""

    def __init__(self, work: Work, valid: RankingDataset | None, count: int) -> None:
        self.made: LambdaMART | None = None
        self.curve = np.zeros(0)
        self.best: float | None = None
        self.total = work.ranker.trees
        self.first = 0 if work.ranker.init is None else work.ranker.init.n_trees_
        self.sign = 1.0 if metric(work.ranker.metric).higher_is_better else -1.0
        self.over = False
        self.store = None if work.checkpoint is None else Store(work.checkpoint)
        if self.store is not None:
            self.about = _about(work, valid, count)
            self._resume(self.store)

    @property
    def trees(self) -> int:
        """Grown so far, those of `init` not counted."""
        return 0 if self.made is None else self.made.n_trees_ - self.first

    def take(self, further: LambdaMART, size: int) -> None:
        """Go on from a longer forest, unless the validation set says that it is no better."""
        if len(further.curve_):
            self.curve = np.concatenate((self.curve[: self.trees], further.curve_))
            reached = float(np.max(self.sign * further.curve_))
            if self.best is not None and reached <= self.best:
                self.over = True
                return
            self.best = reached
        stopped = 0 < len(further.curve_) < size
        self.made = further
        self.over = stopped or self.trees >= self.total

    def keep(self) -> None:
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


def _about(work: Work, valid: RankingDataset | None, count: int) -> str:
    """Which training this is."""
    from rankloop.rankers.saving.codec import encode

    given = work.ranker.get_params(deep=False)
    parameters = {
        name: encode(value, name, {}) for name, value in given.items() if name not in ("init", "callbacks")
    }
    judged = None if valid is None else fingerprint(valid)
    before = None if work.ranker.init is None else blake2b(dumps(work.ranker.init)).hexdigest()
    told = [parameters, work.train.fingerprint, judged, before, count, work.every]
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


def _plain(made: LambdaMART, trees: int) -> LambdaMART:
    """Without the machines, ports and pieces by which it was grown, which say nothing about the model."""
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
    """LightGBM tells on the standard output how it connects; a worker has nobody who reads it."""
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
