"""Thompson sampling over rankers."""

import numpy as np

from rankloop.online.bandits.bandit import Bandit

__all__ = ["Thompson"]


class Thompson(Bandit):
    """Serves each ranker with the probability that it is the best one (Thompson, 1933), by Beta posteriors.

    A reward between 0 and 1 counts as a fraction of a success.

    >>> class ByFeature:
    ...     def __init__(self, sign): self.sign = sign
    ...     def predict(self, X): return self.sign * X[:, 0]
    >>> choice = Thompson({"good": ByFeature(1), "poor": ByFeature(-1)}, seed=0)
    >>> for _ in range(300):
    ...     page = choice.rank(np.array([[0.0], [1.0]]), k=1)
    ...     choice.learn(page, page.shown == 1)  # people want the second document
    >>> choice.best, bool(choice.served[0] > 270)
    ('good', True)
    """

    name = "thompson"

    def _choose(self) -> int:
        return int(np.argmax(self.random.beta(1 + self.rewards, 1 + self.served - self.rewards)))
