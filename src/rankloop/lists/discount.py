"""The discount of DCG."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats

__all__ = ["discount"]


def discount(rank: ArrayLike) -> Floats:
    r"""The discount of a rank (Järvelin & Kekäläinen, 2002), for ranks from 1 on, whole or smooth.

    .. math:: D(r) = \frac{1}{\log_2(1 + r)}

    `rankloop.lists.tensors` has the same for torch (`discount`) and Triton (`discount_of`).

    >>> discount([1, 3])
    array([1. , 0.5])
    """
    return np.asarray(1.0 / np.log2(1.0 + np.asarray(rank, np.float64)))
