"""How much of its exposure production's documents keep on another page."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["exposure_share"]


def exposure_share(shown: ArrayLike, production: ArrayLike, curve: ArrayLike) -> float:
    r"""The share of the exposure on production's page that another page leaves to the same documents.

    .. math:: \sum_{d \in \mathrm{page}} \min(\theta_{\mathrm{here}}, \theta_{\mathrm{production}})
        / \sum_r \theta_r

    1 for production's page itself, 0 for a page without any of its documents.

    >>> exposure_share([0, 2, 1], [0, 1, 2], [1.0, 0.5, 0.25])
    0.8571428571428571
    """
    seen = np.asarray(curve, dtype=np.float64)
    wanted = {int(document): seen[place] for place, document in enumerate(np.asarray(production))}
    here = sum(
        min(seen[place], wanted.get(int(document), 0.0)) for place, document in enumerate(np.asarray(shown))
    )
    return float(here / sum(wanted.values()))
