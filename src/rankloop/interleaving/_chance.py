"""Random choices behind one interface, so that all outcomes of an interleaving can be enumerated."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

__all__ = ["Chance", "RandomChance", "every_outcome"]

Result = TypeVar("Result")


class Chance(Protocol):
    """Picks an index with probability proportional to its weight."""

    def pick(self, weights: Sequence[float]) -> int: ...


class RandomChance:
    """Seeded choices; with a key they depend on seed and key alone, on any machine."""

    def __init__(self, seed: int, key: str | None = None) -> None:
        if key is None:
            self._random = np.random.default_rng(seed)
        else:
            digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=16).digest()
            self._random = np.random.default_rng(int.from_bytes(digest, "big"))

    def pick(self, weights: Sequence[float]) -> int:
        total = sum(weights)
        left = self._random.random() * total
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)


class _Script:
    """Repeats a prefix of choices, then takes the first possible ones, and records the alternatives."""

    def __init__(self, prefix: Sequence[int]) -> None:
        self.prefix = list(prefix)
        self.taken: list[int] = []
        self.alternatives: list[list[int]] = []
        self.probability = 1.0

    def pick(self, weights: Sequence[float]) -> int:
        possible = [index for index, weight in enumerate(weights) if weight > 0]
        step = len(self.taken)
        choice = self.prefix[step] if step < len(self.prefix) else possible[0]
        self.taken.append(choice)
        self.alternatives.append([index for index in possible if index > choice])
        self.probability *= weights[choice] / sum(weights)
        return choice


def every_outcome(run: Callable[[Chance], Result]) -> Iterator[tuple[Result, float]]:
    """Each possible result of `run`, with the probability of its choices (results may repeat).

    >>> sorted(every_outcome(lambda chance: "ab"[chance.pick([1, 3])]))
    [('a', 0.25), ('b', 0.75)]
    """
    prefix: list[int] | None = []
    while prefix is not None:
        script = _Script(prefix)
        result = run(script)
        yield result, script.probability
        prefix = None
        for step in reversed(range(len(script.taken))):
            if script.alternatives[step]:
                prefix = [*script.taken[:step], script.alternatives[step][0]]
                break
