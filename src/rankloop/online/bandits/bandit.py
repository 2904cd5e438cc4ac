"""The base of bandits that choose which of several rankers serves the next page."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop import _archive
from rankloop._arrays import Bools, Floats
from rankloop.online.models.kernels import top_k
from rankloop.online.ranking import Ranking

__all__ = ["Bandit", "Scorer", "any_click"]

_KIND = "bandit"


class Scorer(Protocol):
    """Anything that scores rows."""

    def predict(self, X: Any) -> Floats: ...


def any_click(clicks: Bools) -> float:
    """1 if anything on the page was clicked."""
    return float(clicks.any())


class Bandit(ABC):
    """Rankers by name, one of which serves each page; the reward of a page lies in [0, 1]."""

    name: ClassVar[str]

    def __init__(
        self, rankers: Mapping[str, Scorer], *, reward: Callable[[Bools], float] = any_click, seed: int = 0
    ) -> None:
        if len(rankers) < 2:
            raise ValueError(f"a bandit needs two or more rankers, got {len(rankers)}")
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
        reward = self.reward(ranking.clicks(clicks))
        if not 0 <= reward <= 1:
            raise ValueError(f"the reward of a page lies in [0, 1], got {reward}")
        self.served[ranking.notes["arm"]] += 1
        self.rewards[ranking.notes["arm"]] += reward

    def choose(self) -> str:
        """The ranker for the next page; for who ranks elsewhere."""
        return list(self.rankers)[self._choose()]

    @property
    def best(self) -> str:
        """The ranker with the highest mean reward so far."""
        return list(self.rankers)[self._best()]

    def predict(self, X: Any) -> Floats:
        """The scores of the best ranker so far."""
        return np.asarray(self.rankers[self.best].predict(X), np.float64)

    def _best(self) -> int:
        return int(np.argmax((self.rewards + 1) / (self.served + 2)))

    @abstractmethod
    def _choose(self) -> int: ...

    def save(self, path: str | Path) -> None:
        """Write the counts and the random state; the rankers have files of their own."""
        about = {
            "bandit": self.name,
            "rankers": list(self.rankers),
            "random": self.random.bit_generator.state,
        }
        _archive.write(path, _KIND, about, {"served": self.served, "rewards": self.rewards})

    def load(self, path: str | Path, *, largest: int | None = None) -> None:
        """Continue from a file that was saved for the same rankers.

        A file that unpacks to more than `largest` bytes is refused, by default 200 times its size or 64 MB.
        """
        again = "start a new bandit and save it"
        about, arrays = _archive.read(path, _KIND, again=again, largest=largest)
        if about["bandit"] != self.name or about["rankers"] != list(self.rankers):
            raise ValueError(
                f"{path} holds {about['bandit']!r} over {about['rankers']}, "
                f"this is {self.name!r} over {list(self.rankers)}"
            )
        self.served, self.rewards = np.asarray(arrays["served"]), np.asarray(arrays["rewards"])
        self.random.bit_generator.state = about["random"]
