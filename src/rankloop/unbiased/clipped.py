"""Inverse propensity scoring with a bound on each weight."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias, refuse_trust
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["clipped"]


def clipped(
    log: Log, propensity: ClickBias, data: RankingDataset, *, tau: float | None = None, unseen: str = "drop"
) -> RankingDataset:
    r"""IPS with weights of at most :math:`1/\tau` (Strehl et al., 2010).

    .. math:: y_d = \frac{1}{n_d} \sum_{i: d \text{ shown}} \frac{c_{id}}{\max(\tau, \theta_{k_i(d)})}

    Less variance for a bias of :math:`\gamma_d (\theta / \tau - 1)` below :math:`\tau`, towards the logging
    order. :math:`\tau = 10 / \sqrt{N}` unless given: it vanishes as the log grows.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> clipped(ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [1, 1]), [1.0, 0.1], data, tau=0.5).y
    array([1., 2.], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, clipped_relevance(seen, tau), unseen)


def clipped_relevance(seen: Evidence, tau: float | None = None) -> Floats:
    refuse_trust(seen.beta, "clipped")
    return seen.by_row(seen.clicks / np.maximum(seen.alpha, bound(seen, tau))) / seen.row_impressions


def bound(seen: Evidence, tau: float | None) -> float:
    """The lower bound of the propensities."""
    if tau is None:
        return float(min(1.0, 10.0 / np.sqrt(seen.sessions.sum())))
    if not 0 <= tau <= 1:
        raise ValueError(f"tau lies in [0, 1], got {tau}")
    return tau
