"""CatBoost's callbacks: scores out, derivatives in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.trees.boosting import Derivatives, Watch

__all__ = ["Relay", "RelayMetric", "RelayObjective"]


class Relay:
    """Connects CatBoost's callbacks to our derivatives and early stopping.

    CatBoost calls for derivatives block by block and without the lists. So the targets are row numbers: the
    derivatives of all rows are computed once per round, when CatBoost passes the scores of the whole training
    set to its metric, and looked up by row number in the next round.
    """

    def __init__(self, derivatives_of: Derivatives | None, watch: Watch, validated: bool) -> None:
        self.derivatives_of, self.watch, self.validated = derivatives_of, watch, validated
        self.derivatives = np.empty((0, 2))
        self.calls = 0
        self.seen: Floats | None = None
        self.failed: BaseException | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what a callback raises, also an interrupt: CatBoost would make its own error of it."""
        try:
            yield
        except BaseException as error:
            self.failed = error
            raise

    def update(self, scores: Floats) -> None:
        if self.derivatives_of is not None:
            gradient, hessian = self.derivatives_of(scores)
            self.derivatives = -np.column_stack((gradient, hessian)).astype(np.float64)

    def show(self, scores: Floats) -> None:
        """Called twice per round: with the scores of the training set, then of the validation set."""
        self.calls += 1
        if self.calls == 1:
            self.update(scores)
        elif self.validated:
            self.seen = scores.copy()

    def after_iteration(self, info: Any) -> bool:
        self.calls = 0
        with self.kept():
            return not self.watch(self.seen)


class RelayObjective:
    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def __deepcopy__(self, memo: Any) -> "RelayObjective":
        return self

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> Floats:
        with self.relay.kept():
            return self.relay.derivatives[np.asarray(targets).astype(np.int64)]


class RelayMetric:
    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def __deepcopy__(self, memo: Any) -> "RelayMetric":
        return self

    def is_max_optimal(self) -> bool:
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        with self.relay.kept():
            self.relay.show(np.asarray(approxes[0], np.float64))
            return 0.0, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error
