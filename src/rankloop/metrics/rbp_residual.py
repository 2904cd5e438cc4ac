"""The uncertainty of rank-biased precision."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.lists import check_offsets
from rankloop.metrics.kernels.lists import Values, cutoff
from rankloop.metrics.rbp import persistence

__all__ = ["rbp_residual"]


def rbp_residual(offsets: ArrayLike, *, p: float = 0.8, k: int | None = None) -> Values:
    r"""The most that documents below the end of each list (or below `k`) could add to its RBP.

    .. math:: (1 - p) \sum_{r > n} p^{r - 1} = p^n

    >>> rbp_residual([0, 3], p=0.5)
    array([0.125])
    """
    shown = np.minimum(np.diff(check_offsets(offsets)), cutoff(k))
    return persistence(p) ** shown.astype(np.float64)
