"""What all backends share: the plan of a forest, its derivatives, and when to stop."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from rankloop._arrays import Bools, Floats, Singles
from rankloop.data import RankingDataset
from rankloop.losses import Loss, redraw
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.trees.best_round import BestRound
from rankloop.rankers.trees.forest import Forest

__all__ = ["Boosted", "Derivatives", "Job", "Plan", "Round", "Watch"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a forest, the same for all backends; features are indices.

    `objective` is one of the backend's own, or None where a loss of ours gives the derivatives.
    """

    trees: int
    leaves: int
    learning_rate: float
    min_sum_hessian: float | None
    l2: float
    bagging_fraction: float
    feature_fraction: float
    max_bins: int
    monotone: Mapping[int, int]
    interaction: Sequence[Sequence[int]]
    categorical: Sequence[int]
    threads: int | None
    device: str
    seed: int
    objective: str | None
    params: Mapping[str, Any]


class Boosted(Protocol):
    """A forest of one backend: how it grows, scores and is saved."""

    library: ClassVar[str]  # its name, by which `rankloop.rankers.explain` finds what the library explains

    @property
    def trees(self) -> int: ...

    @property
    def compiled(self) -> Forest | None: ...

    @classmethod
    def grow(cls, job: "Job", init: Self | None) -> Self: ...

    def scores(self, X: Singles, threads: int | None) -> Floats: ...

    def written(self) -> Member: ...

    @classmethod
    def read(cls, written: Member, compiled: Forest | None = None) -> Self: ...


class Derivatives:
    """Gradient and Hessian of the loss at the current scores, once per round.

    With `bagging_fraction` below 1, the other queries get zeros, by a new draw in each round. Backends would
    draw single rows and break lists apart.
    """

    def __init__(self, loss: Loss, train: RankingDataset, plan: Plan, rounds: int) -> None:
        self.loss, self.train, self.rounds = loss, train, rounds
        self.share, self.seed = plan.bagging_fraction, plan.seed

    def __call__(self, scores: Floats) -> tuple[Singles, Singles]:
        self.rounds += 1
        found = None if self.fast is None else self.fast(scores)
        gradient, hessian = self._any_loss(scores) if found is None else found
        if self.share < 1:
            left_out = ~self.drawn()[self.train.row_query]
            gradient[left_out] = 0.0
            hessian[left_out] = 0.0
        return gradient, hessian

    def drawn(self) -> Bools:
        """The queries that give gradients in this round, at least one."""
        drawn = np.random.default_rng([self.seed, self.rounds]).random(self.train.n_queries) < self.share
        if not drawn.any():
            drawn[self.rounds % len(drawn)] = True
        return drawn

    @cached_property
    def fast(self) -> Callable[[Floats], tuple[Singles, Singles] | None] | None:
        """The loss prepared for these labels, where it can be."""
        train = self.train
        if train.item_weight is not None or train.pairs is not None:
            return None
        return self.loss.prepare(train.y, train.offsets, train.query_weight)

    def _any_loss(self, scores: Floats) -> tuple[Singles, Singles]:
        train = self.train
        gradient, hessian = redraw(self.loss, self.rounds).derivatives(
            scores,
            train.y,
            train.offsets,
            weight=train.item_weight,
            query_weight=train.query_weight,
            pairs=train.pairs,
        )
        return gradient.astype(np.float32), hessian.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Round:
    """The argument of callbacks after each round; `value` and `best` are None without a validation set."""

    number: int
    trees: int
    metric: str
    value: float | None
    best: float | None
    best_round: int
    seconds: float


@dataclass(slots=True)
class Watch:
    """Early stopping: the metric on the validation set by round, and the callbacks.

    `quality` measures the scores where a backend keeps them on a device; otherwise the objective does.
    `best` finds the round to keep. With `whole` all rounds are kept: later ones change the trees of earlier
    ones, as in DART, so that the model of the best round no longer exists.
    """

    objective: Objective | None
    trees: int
    patience: int | None
    callbacks: Sequence[Callable[[Round], Any]]
    best: BestRound
    curve: list[float] = field(default_factory=list)
    best_round: int = 0
    number: int = 0
    whole: bool = False
    quality: Callable[[Any], float] | None = None
    _highest: float = -math.inf
    _start: float = field(default_factory=time.perf_counter)

    def __call__(self, scores: Any) -> bool:
        """Record one more round with the scores of the validation set; True means stop."""
        self.number += 1
        value = None
        if self.objective is not None and scores is not None:
            reached = (self.quality or self.objective)(scores)
            if math.isnan(reached):
                raise ValueError(
                    f"{self.objective.metric} has no value on the validation set: no list of it has a "
                    "relevant document; use another validation set"
                )
            value = self._signed(reached)
            self.curve.append(value)
            self._highest = max(self._highest, reached)
            self.best.add(reached)
            self.best_round = self.number if self.whole else self.best.number
        else:
            self.best_round = self.number
        seen = Round(
            self.number,
            self.trees,
            "" if self.objective is None else str(self.objective.metric),
            value,
            None if value is None else self._signed(self._highest),
            self.best_round,
            time.perf_counter() - self._start,
        )
        answers = [callback(seen) for callback in self.callbacks]
        exhausted = self.patience is not None and self.number - self.best_round >= self.patience
        return exhausted or any(answer is True for answer in answers)

    def _signed(self, value: float) -> float:
        up = self.objective is None or self.objective.metric.higher_is_better
        return value if up else -value


class Job(NamedTuple):
    """All that `Boosted.grow` needs; `derivatives` is None where the backend has its own objective."""

    plan: Plan
    train: RankingDataset
    valid: RankingDataset | None
    derivatives: Derivatives | None
    watch: Watch
