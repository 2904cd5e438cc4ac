"""Ranks that are examined more often than the one held at 1."""

from collections.abc import Callable, Mapping

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop._warn import warn
from rankloop.clicks.fitting.expect import Cells

__all__ = ["excess", "warn_if_bound"]

CLEARLY = 4.0  # standard errors
NEAR = 0.95  # of the bound; EM comes to it slowly


def excess(cells: Cells, attraction: Floats, n_factors: int) -> Floats:
    r"""By factor, how much the likelihood would rise if it were examined more often than always.

    The score of :math:`\theta_f` at 1, :math:`\sum (c - n \gamma) / (1 - \gamma)`, in standard errors.
    """
    gamma = np.minimum(attraction[cells.pair], 0.95)
    score = np.bincount(cells.factor, (cells.clicks - cells.impressions * gamma) / (1 - gamma), n_factors)
    information = np.bincount(cells.factor, cells.impressions * gamma / (1 - gamma), n_factors)
    return np.asarray(score / np.sqrt(np.maximum(information, 1e-12)))


def warn_if_bound(
    cells: Cells, values: Mapping[str, Floats], held: Bools, name: Callable[[int], str]
) -> None:
    """A warning where clicks need more examination than the factor that is held at 1 has."""
    examination = values["examination"]
    over = excess(cells, values["attraction"], len(examination))
    over[held | (examination < NEAR)] = -np.inf
    worst = int(over.argmax())
    if over[worst] > CLEARLY:
        warn(
            f"{name(worst)} is examined more often than {name(int(held.argmax()))}, which is held at 1 "
            f"({over[worst]:.0f} standard errors): the fit is worse than it could be, and attraction is too "
            "high; give examination=, scaled so that its largest value is 1",
            RuntimeWarning,
        )
