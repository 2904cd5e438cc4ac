"""The best ranker so far, with some exploration."""

from collections.abc import Callable, Mapping

from rankloop._arrays import Bools
from rankloop.online.bandits.bandit import Bandit, Scorer, any_click

__all__ = ["EpsilonGreedy"]


class EpsilonGreedy(Bandit):
    """Serves the best ranker so far, and with probability `epsilon` a random one.

    >>> import numpy as np
    >>> class ByFeature:
    ...     def __init__(self, sign): self.sign = sign
    ...     def predict(self, X): return self.sign * X[:, 0]
    >>> choice = EpsilonGreedy({"good": ByFeature(1), "poor": ByFeature(-1)}, epsilon=0.2, seed=0)
    >>> for _ in range(300):
    ...     page = choice.rank(np.array([[0.0], [1.0]]), k=1)
    ...     choice.learn(page, page.shown == 1)
    >>> choice.best
    'good'
    """

    name = "epsilon_greedy"

    def __init__(
        self,
        rankers: Mapping[str, Scorer],
        *,
        epsilon: float = 0.1,
        reward: Callable[[Bools], float] = any_click,
        seed: int = 0,
    ) -> None:
        super().__init__(rankers, reward=reward, seed=seed)
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon lies in [0, 1], got {epsilon}")
        self.epsilon = epsilon

    def _choose(self) -> int:
        if self.random.random() < self.epsilon:
            return int(self.random.integers(len(self.rankers)))
        return self._best()
