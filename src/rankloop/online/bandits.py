"""Which of several rankers should serve the next page."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._atomic import replacing
from rankloop.online.models.kernels import top_k
from rankloop.online.ranking import Ranking

__all__ = ["EpsilonGreedy", "Scorer", "Thompson", "any_click"]


class Scorer(Protocol):
    """Anything that scores rows."""

    def predict(self, X: Any) -> NDArray[np.float64]: ...


def any_click(clicks: NDArray[np.bool_]) -> float:
    """1 if anything on the page was clicked."""
    return float(clicks.any())


class _Bandit(ABC):
    """Rankers by name, one of which serves each page; the reward of a page lies in [0, 1]."""

    name: ClassVar[str]

    def __init__(
        self,
        rankers: Mapping[str, Scorer],
        *,
        reward: Callable[[NDArray[np.bool_]], float] = any_click,
        seed: int = 0,
    ) -> None:
        if len(rankers) < 2:
            raise ValueError(f"a choice needs two or more rankers, got {len(rankers)}")
        self.rankers = dict(rankers)
        self.reward = reward
        self.random = np.random.default_rng(seed)
        self.served = np.zeros(len(rankers))
        self.rewards = np.zeros(len(rankers))

    def rank(self, X: ArrayLike, k: int = 10) -> Ranking:
        rows = np.ascontiguousarray(X, dtype=np.float32)
        chosen = self._choose()
        scores = np.asarray(list(self.rankers.values())[chosen].predict(rows), np.float64)
        return Ranking(rows, top_k(scores, k), {"by": self.name, "arm": chosen})

    def learn(self, ranking: Ranking, clicks: ArrayLike) -> None:
        got = self.reward(ranking.clicks(clicks))
        if not 0 <= got <= 1:
            raise ValueError(f"the reward of a page lies in [0, 1], got {got}")
        self.served[ranking.notes["arm"]] += 1
        self.rewards[ranking.notes["arm"]] += got

    @property
    def best(self) -> str:
        """The ranker with the highest mean reward so far."""
        return list(self.rankers)[int(np.argmax((self.rewards + 1) / (self.served + 2)))]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The scores of the ranker that is best so far."""
        return np.asarray(self.rankers[self.best].predict(X), np.float64)

    @abstractmethod
    def _choose(self) -> int: ...

    def save(self, path: str | Path) -> None:
        """Write counts and the random state; the rankers have files of their own."""
        state = {
            "bandit": self.name,
            "rankers": list(self.rankers),
            "served": self.served.tolist(),
            "rewards": self.rewards.tolist(),
            "random": self.random.bit_generator.state,
        }
        with replacing(path) as beside:
            beside.write_text(json.dumps(state), encoding="utf-8")

    def load(self, path: str | Path) -> None:
        """Go on from a file written for the same rankers."""
        try:
            state = json.loads(Path(path).read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is not a saved bandit, or it was cut short ({error})") from None
        if state.get("bandit") != self.name or state.get("rankers") != list(self.rankers):
            raise ValueError(
                f"{path} holds {state.get('bandit')!r} over {state.get('rankers')}, "
                f"this is {self.name!r} over {list(self.rankers)}"
            )
        self.served, self.rewards = np.array(state["served"]), np.array(state["rewards"])
        self.random.bit_generator.state = state["random"]


class Thompson(_Bandit):
    """Serves each ranker as often as it is probably the best one (Thompson, 1933), by Beta posteriors.

    A reward between 0 and 1 counts as that share of a success.

    >>> class Constant:
    ...     def __init__(self, sign): self.sign = sign
    ...     def predict(self, X): return self.sign * X[:, 0]
    >>> choice = Thompson({"good": Constant(1), "poor": Constant(-1)}, seed=0)
    >>> for _ in range(300):
    ...     page = choice.rank(np.array([[0.0], [1.0]]), k=1)
    ...     choice.learn(page, page.shown == 1)  # people want the second document
    >>> choice.best, bool(choice.served[0] > 270)
    ('good', True)
    """

    name = "thompson"

    def _choose(self) -> int:
        return int(np.argmax(self.random.beta(1 + self.rewards, 1 + self.served - self.rewards)))


class EpsilonGreedy(_Bandit):
    """Serves the best ranker so far, and with chance `epsilon` any of them.

    >>> class Constant:
    ...     def __init__(self, sign): self.sign = sign
    ...     def predict(self, X): return self.sign * X[:, 0]
    >>> choice = EpsilonGreedy({"good": Constant(1), "poor": Constant(-1)}, epsilon=0.2, seed=0)
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
        reward: Callable[[NDArray[np.bool_]], float] = any_click,
        seed: int = 0,
    ) -> None:
        super().__init__(rankers, reward=reward, seed=seed)
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon lies in [0, 1], got {epsilon}")
        self.epsilon = epsilon

    def _choose(self) -> int:
        if self.random.random() < self.epsilon:
            return int(self.random.integers(len(self.rankers)))
        return int(np.argmax((self.rewards + 1) / (self.served + 2)))
