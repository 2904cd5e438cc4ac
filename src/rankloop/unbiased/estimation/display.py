"""Slope and intercept of a document's clicks, averaged over the ranks at which it is shown."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["Display", "expected"]

Display = ArrayLike | None  # the probability of each row at each rank; None: the frequencies of the log


def expected(seen: Evidence, display: Display) -> tuple[Floats, Floats]:
    r""":math:`\bar\alpha` and :math:`\bar\beta` of each row, given or by the log's frequencies."""
    if display is None:
        return seen.slope(), seen.floor()
    probability = np.asarray(display, np.float64)
    depth = int(seen.position.max())
    if probability.ndim != 2 or len(probability) != seen.data.n_documents or probability.shape[1] < depth:
        raise ValueError(
            f"display has one row per document and one column per rank ({seen.data.n_documents} x {depth}), "
            f"got shape {probability.shape}"
        )
    if not np.all((probability >= 0) & (probability <= 1 + 1e-9)):
        raise ValueError("display holds probabilities: every entry lies in [0, 1]")
    alpha, beta = np.zeros(probability.shape[1]), np.zeros(probability.shape[1])
    alpha[seen.position - 1], beta[seen.position - 1] = seen.alpha, seen.beta
    if np.any(alpha[seen.position - 1] != seen.alpha):
        raise ValueError(
            "display needs one curve for all pages; leave it out where each layout has its own curve"
        )
    return probability @ alpha, probability @ beta
