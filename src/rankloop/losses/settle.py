"""The same loss with the highest grade of all data."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rankloop.losses.loss import Loss

__all__ = ["settle"]


def settle(given: Loss, labels: ArrayLike) -> Loss:
    """The loss with `max_label` set from all labels, where it would otherwise take it from each batch.

    >>> from rankloop.losses import SigmoidCrossEntropy
    >>> settle(SigmoidCrossEntropy(), [0, 4, 1]).name
    'sigmoidcrossentropy(max_label=4.0)'
    """
    if getattr(given, "max_label", 0.0) is not None:
        return given
    highest = max(float(np.max(labels, initial=0.0)), 1.0)
    return replace(given, max_label=highest)  # type: ignore[type-var]  # every loss is a dataclass
