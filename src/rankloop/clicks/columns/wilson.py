"""Wilson's interval of a share."""

import numpy as np
from scipy.special import ndtri

from rankloop._arrays import Floats

__all__ = ["wilson"]


def wilson(hits: Floats, tries: Floats, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """The share and its interval (Wilson, 1927); nan where there are no tries.

    >>> [round(float(one[0]), 4) for one in wilson(np.array([10.0]), np.array([100.0]))]
    [0.1, 0.0552, 0.1744]
    """
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = hits / tries
        centre = (hits + z2 / 2) / (tries + z2)
        half = np.sqrt(z2) / (tries + z2) * np.sqrt(hits * (tries - hits) / tries + z2 / 4)
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return share, np.minimum(low, share), np.maximum(high, share)
