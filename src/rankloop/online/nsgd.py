"""Null-space gradient descent."""

from collections import deque
from typing import Unpack

import numpy as np

from rankloop._arrays import Array, Bools, Floats, Ints, Singles
from rankloop._options import passes_to
from rankloop.online.mgd import MGD, DuelOptions
from rankloop.online.ranking import Ranking
from rankloop.rankers import Ranker

__all__ = ["NSGD"]


class NSGD(MGD):
    """Explores directions that did not lose recently and separate the candidates (Wang et al., 2018).

    Directions are drawn in the null space of the last `memory` losing ones (singular values below
    `tolerance` times the largest count as zero). Of these, the `challengers` with the largest spread of
    scores over the page's candidates are tried, and of several winners the step follows the one that best
    ranks the clicks of the last `hard_pages` pages with clicks.

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> learner = NSGD(LinearRanker(), seed=0)
    >>> page = learner.rank(np.eye(12), k=10)
    >>> learner.learn(page, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    >>> learner.pages
    1
    """

    name = "nsgd"

    @passes_to(MGD.__init__)
    def __init__(
        self,
        ranker: Ranker,
        *,
        challengers: int = 4,
        proposals: int = 20,
        memory: int = 10,
        hard_pages: int = 5,
        tolerance: float = 1e-6,
        **options: Unpack[DuelOptions],
    ) -> None:
        super().__init__(ranker, challengers=challengers, **options)
        if proposals < challengers or memory < 1 or hard_pages < 1:
            raise ValueError("proposals is at least challengers; memory and hard_pages are at least 1")
        self.proposals, self.tolerance = proposals, tolerance
        self._lost: deque[Floats] = deque(maxlen=memory)
        self._hard: deque[tuple[Singles, Ints]] = deque(maxlen=hard_pages)

    def _directions(self, X: Singles, n: int) -> Floats:
        drawn = super()._directions(X, self.proposals)
        if self._lost:
            _, size, basis = np.linalg.svd(np.array(self._lost), full_matrices=False)
            spanned = basis[size > self.tolerance * size[0]]
            free = drawn - drawn @ spanned.T @ spanned
            length = np.linalg.norm(free, axis=1, keepdims=True)
            if np.all(length > self.tolerance):  # else recent losses span every direction
                drawn = free / length
        spread = [self.model.scores(X, direction).std() for direction in drawn]
        return drawn[np.argsort(spread)[::-1][:n]]

    def _learn(self, ranking: Ranking, clicks: Bools) -> None:
        before = self.model.parameters.copy()
        super()._learn(ranking, clicks)
        if clicks.any():
            self._hard.append((ranking.X, ranking.shown[clicks]))
            if np.array_equal(before, self.model.parameters):
                self._lost.extend(ranking.notes["directions"])

    def _winner(self, ranking: Ranking, clicks: Bools, better: Ints) -> Floats:
        directions: Floats = ranking.notes["directions"]
        pages = [*self._hard, (ranking.X, ranking.shown[clicks])]
        quality = [self._quality(self.model.parameters + self.delta * directions[i], pages) for i in better]
        return np.asarray(directions[better[int(np.argmax(quality))]])

    def _quality(self, parameters: Floats, pages: list[tuple[Singles, Ints]]) -> float:
        """How high these weights rank what was clicked: the mean of 1 / rank."""
        total = 0.0
        for X, clicked in pages:
            scores = self.model.scores(X, parameters)
            ranks = (scores[:, None] > scores[clicked]).sum(axis=0) + 1
            total += float((1.0 / ranks).mean())
        return total / len(pages)

    def _memory(self) -> dict[str, Array]:
        kept: dict[str, Array] = {f"lost/{i}": value for i, value in enumerate(self._lost)}
        for i, (X, clicked) in enumerate(self._hard):
            kept[f"hard/{i}/X"], kept[f"hard/{i}/clicked"] = X, clicked
        return kept

    def _remember(self, memory: dict[str, Array]) -> None:
        self._lost.clear()
        self._hard.clear()
        for i in range(sum(name.startswith("lost/") for name in memory)):
            self._lost.append(memory[f"lost/{i}"])
        for i in range(sum(name.endswith("/X") for name in memory)):
            self._hard.append((memory[f"hard/{i}/X"], memory[f"hard/{i}/clicked"]))
