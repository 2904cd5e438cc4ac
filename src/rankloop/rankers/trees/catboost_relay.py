"""Between CatBoost's rounds and ours: scores out, derivatives in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.rankers.trees.boosting import Floats, Lambdas, Watch

__all__ = ["Relay", "RelayMetric", "RelayObjective"]


class Relay:
    """Between CatBoost's rounds and ours.

    CatBoost asks for derivatives block by block and without the lists, so that the rows carry their numbers
    as targets: the derivatives of all rows are computed once a round, when CatBoost shows the scores of the
    whole training set to its metric, and looked up by number in the next round.
    """

    def __init__(self, lambdas: Lambdas | None, watch: Watch, validated: bool) -> None:
        self.lambdas, self.watch, self.validated = lambdas, watch, validated
        self.derivatives = np.empty((0, 2))
        self.calls = 0
        self.seen: Floats | None = None
        self.failed: Exception | None = None

    def push(self, scores: Floats) -> None:
        if self.lambdas is not None:
            gradient, hessian = self.lambdas(scores)
            self.derivatives = -np.column_stack((gradient, hessian)).astype(np.float64)

    def show(self, scores: Floats) -> None:
        """In each round first the scores of the training set come, then those of the validation set."""
        self.calls += 1
        if self.calls == 1:
            self.push(scores)
        elif self.validated:
            self.seen = scores.copy()

    def after_iteration(self, info: Any) -> bool:
        self.calls = 0
        try:
            return not self.watch(self.seen)
        except ValueError as error:  # CatBoost would bury it
            self.failed = error
            return False


class RelayObjective:
    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def __deepcopy__(self, memo: Any) -> "RelayObjective":
        return self

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> NDArray[np.float64]:
        return self.relay.derivatives[np.asarray(targets).astype(np.int64)]


class RelayMetric:
    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def __deepcopy__(self, memo: Any) -> "RelayMetric":
        return self

    def is_max_optimal(self) -> bool:
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        self.relay.show(np.asarray(approxes[0], np.float64))
        return 0.0, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error
