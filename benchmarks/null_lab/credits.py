"""Credits of interleaved pages on which neither ranker is better."""

from collections.abc import Callable

import numpy as np

from null_lab.experiments import Floats, Ints

__all__ = ["CREDITS", "RISING"]


def _tastes(rng: np.random.Generator, user: Ints) -> Floats:
    """People who prefer one ranker, half of them either."""
    taste = rng.choice([0.9, 0.1], int(user.max()) + 1)[user]
    return np.where(rng.random(len(user)) < taste, 1.0, -1.0)


def _rising(rng: np.random.Generator, user: Ints) -> Floats:
    """Clicks that become 55 times as frequent, on documents of either ranker."""
    clicked = rng.random(len(user)) < np.exp(np.linspace(-4, 0, len(user)))
    return np.where(clicked, rng.choice([1.0, -1.0], len(user)), 0.0)


RISING = "clicks 55 times as frequent at the end"
CREDITS: dict[str, Callable[[np.random.Generator, Ints], Floats]] = {
    "credit of ±1": lambda rng, user: rng.choice([1.0, 0.0, -1.0], len(user)),
    "+.9 on one page of ten": lambda rng, user: np.where(rng.random(len(user)) < 0.1, 0.9, -0.1),
    "+.98 on one page of fifty": lambda rng, user: np.where(rng.random(len(user)) < 0.02, 0.98, -0.02),
    "people with tastes": _tastes,
    RISING: _rising,
}
