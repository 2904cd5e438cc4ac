"""The base of all online learners."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Bools, Floats, Singles
from rankloop.data import RankingDataset
from rankloop.online.models.kernels import top_k
from rankloop.online.models.model import Model, model_of
from rankloop.online.models.saved_state import flat, nested, read_state, write_state
from rankloop.online.ranking import Ranking
from rankloop.rankers import Ranker

__all__ = ["Learner", "LearnerOptions"]


class LearnerOptions(TypedDict, total=False):
    """Parameters of every learner; the defaults are those of `Learner`."""

    learning_rate: float
    decay: float
    features: RankingDataset | None
    seed: int


class Learner(ABC):
    """Shows pages with `rank(X, k)` and learns from each with `learn(ranking, clicks)`.

    `X` holds the candidates of one query, any number of them; they may change between pages. `features` (a
    data set whose labels are not used) standardises the features; a fitted ranker has its own scale, and
    learning starts from its weights.
    """

    name: ClassVar[str]

    def __init__(
        self,
        ranker: Ranker,
        *,
        learning_rate: float = 0.1,
        decay: float = 0.0,
        features: RankingDataset | None = None,
        seed: int = 0,
    ) -> None:
        if not learning_rate > 0:
            raise ValueError(f"learning_rate must be above 0, got {learning_rate}")
        if not 0 <= decay < 1:
            raise ValueError(f"decay is the share of the weights dropped per page, in [0, 1), got {decay}")
        self.model: Model = model_of(ranker, features)
        self.learning_rate = learning_rate
        self.decay = decay
        self.seed = seed
        self.pages = 0
        self.random = np.random.default_rng(seed)

    def rank(self, X: ArrayLike, k: int = 10) -> Ranking:
        """A page of `k` candidates (all, if there are fewer)."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        return self._rank(self.model.rows(X), k)

    def learn(self, ranking: Ranking, clicks: ArrayLike) -> None:
        """One step from the clicks (0 or 1 for each shown place) on a page that this learner showed."""
        clicked = ranking.clicks(clicks)
        if ranking.notes.get("by") != self.name:
            raise ValueError(f"this page was shown by {ranking.notes.get('by')!r}, not by {self.name!r}")
        self._learn(ranking, clicked)
        if self.decay:
            self.model.parameters *= 1.0 - self.decay
        self.pages += 1

    def predict(self, X: ArrayLike) -> Floats:
        """The current scores, without exploration."""
        return self.model.scores(self.model.rows(X))

    @property
    def ranker(self) -> Ranker:
        """The current weights as a ranker to evaluate, save and deploy."""
        return self.model.to_ranker()

    def _rank(self, X: Singles, k: int) -> Ranking:
        """A page sampled from Plackett-Luce over the current scores; duels show their own."""
        scores = self.model.scores(X)
        shown = top_k(scores + self.random.gumbel(size=len(X)), k)
        return Ranking(X, shown, {"by": self.name, "scores": scores})

    def _unit_vectors(self, n: int) -> Floats:
        """Directions in parameter space, uniform on the unit sphere."""
        drawn = self.random.normal(size=(n, len(self.model.parameters)))
        unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    @abstractmethod
    def _learn(self, ranking: Ranking, clicks: Bools) -> None: ...

    def _memory(self) -> dict[str, Array]:
        """Further arrays to save; for learners that remember pages."""
        return {}

    def _remember(self, memory: dict[str, Array]) -> None:
        """Restore what `_memory` gave."""
        assert not memory, "a learner with memory restores it"

    def snapshot(self) -> dict[str, Any]:
        """The whole state: learning resumed from it shows the same pages and learns the same weights."""
        return {
            "pages": self.pages,
            "random": self.random.bit_generator.state,
            "model": {name: value.copy() for name, value in self.model.state().items()},
            "memory": {name: value.copy() for name, value in self._memory().items()},
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to a snapshot."""
        self.pages = snapshot["pages"]
        self.random.bit_generator.state = snapshot["random"]
        self.model.restore(snapshot["model"])
        self._remember(snapshot["memory"])

    def save(self, path: str | Path) -> None:
        """Write the state to one file, whole or not at all."""
        write_state(path, self.name, *flat(self.snapshot()))

    def load(self, path: str | Path, *, largest: int | None = None) -> None:
        """Continue from a file that the same kind of learner saved.

        A file that unpacks to more than `largest` bytes is refused, by default 200 times its size or 64 MB.
        """
        self.restore(nested(*read_state(path, self.name, largest)))
