"""Whether one model is behind another on the same queries, by more than chance would have it."""

import numpy as np

from rankloop._arrays import Floats

__all__ = ["behind"]

FEWEST = 20  # queries that a verdict takes


def behind(each: Floats, best: Floats, errors: float) -> bool:
    """Whether the mean difference from the best is that many standard errors or more below 0.

    Both have the metric of each query, higher is better; queries where either is missing do not count.

    >>> rng = np.random.default_rng(0)
    >>> best = rng.random(50)
    >>> behind(best - 0.1 + 0.1 * rng.random(50), best, 2.0), behind(rng.permutation(best), best, 2.0)
    (True, False)
    """
    gap = (best - each)[np.isfinite(best - each)]
    return len(gap) >= FEWEST and bool(gap.mean() > errors * gap.std() / np.sqrt(len(gap)))
