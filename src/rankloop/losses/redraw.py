"""The same loss with other random draws."""

from dataclasses import replace

import numpy as np

from rankloop.losses.loss import Loss

__all__ = ["redraw"]


def redraw(given: Loss, step: int) -> Loss:
    """The loss with the random draws of another step; losses without draws pass through.

    >>> from rankloop.losses import XENDCG
    >>> redraw(XENDCG(), 7) == redraw(XENDCG(), 8)
    False
    """
    if not hasattr(given, "seed"):
        return given
    seed = int(np.random.SeedSequence([given.seed, step]).generate_state(1)[0])
    return replace(given, seed=seed)  # type: ignore[type-var]  # every loss is a dataclass
