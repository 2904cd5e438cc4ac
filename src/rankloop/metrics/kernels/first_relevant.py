"""Where the first relevant document comes: the kernel of hit and reciprocal rank."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel
from rankloop.metrics.kernels.relevant import is_relevant

__all__ = ["first_relevant"]


@kernel
def first_relevant(
    labels: NDArray[np.float32],
    weight: NDArray[np.float32],
    tied: NDArray[np.bool_],
    starts: NDArray[np.int64],
    kept: NDArray[np.int64],
    k: int,
    relevance_threshold: np.float32,
    by_rank: bool,
    values: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """The chance that the first relevant document is among the first k; `by_rank`: the mean of 1 / rank."""
    for q in range(first, last):
        start = starts[q]
        end = start + kept[q]
        values[q] = 0.0
        i = start
        while i < end and i - start < k:
            relevant = 0
            mass = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                w = weight[j] if len(weight) > 0 else np.float32(1)
                if is_relevant(labels[j], w, relevance_threshold):
                    relevant += 1
                    mass += float(w)
                j += 1
            if relevant > 0:
                none_yet = 1.0  # the chance that no relevant document came before this place
                place = i
                while none_yet > 0 and place - start < k:
                    here = relevant / (j - place)
                    values[q] += none_yet * here / (place - start + 1 if by_rank else 1)
                    none_yet *= 1 - here
                    place += 1
                values[q] *= mass / relevant
                break
            i = j
