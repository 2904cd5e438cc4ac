"""Self-normalised inverse propensity scoring."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled
from rankloop.unbiased.ips import ips_relevance

__all__ = ["snips"]


def snips(log: Log, propensity: ClickBias, data: RankingDataset, *, unseen: str = "drop") -> RankingDataset:
    r"""IPS in shares of all the relevance found (Swaminathan & Joachims, 2015).

    .. math:: y_d = \frac{\hat\gamma_d}{\frac1N \sum_q N_q \sum_{d'} \hat\gamma_{d'}}, \qquad
        \hat\gamma = \text{the estimate of ips}

    A constant added to a loss adds just that to its estimate, and a wrong scale of the curve cancels. One
    divisor serves the whole log: to divide each query by its own clicks would change what is estimated.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> snips(ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [1, 1]), [1.0, 0.25], data).y
    array([0.2, 0.8], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, snips_relevance(seen), unseen)


def snips_relevance(seen: Evidence) -> Floats:
    found = ips_relevance(seen)
    total = float(np.sum(found * seen.sessions[seen.data.row_query]) / seen.sessions.sum())
    if total == 0:
        raise ValueError("nothing was clicked, so there is no sum of weights to divide by; use ips")
    return found / total
