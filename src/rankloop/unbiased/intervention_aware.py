"""A correction for logs of several logging policies."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.display import Display, expected
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["intervention_aware"]


def intervention_aware(
    log: Log, propensity: ClickBias, data: RankingDataset, *, display: Display = None, unseen: str = "drop"
) -> RankingDataset:
    r"""Slope and intercept in expectation over every policy that was deployed (Oosterhuis & de Rijke, 2021).

    .. math:: y_d = \frac{1}{N_q} \sum_i \frac{c_{id} - \bar\beta_d}{\bar\alpha_d}, \qquad
        \bar\alpha_d = \frac{1}{N_q} \sum_i \mathbb{E}_{\pi_i}[\alpha_{k(d)}]

    and likewise for :math:`\bar\beta`; a page that does not show d has :math:`\alpha = \beta = 0`. `display`
    holds the probability of each row at each rank, averaged over the policies; else the log's frequencies.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y", "y", "x"], [1, 2, 1, 2], [1, 0, 1, 1])
    >>> intervention_aware(log, [1.0, 0.5], data).y.round(3)
    array([1.333, 0.667], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, intervention_aware_relevance(seen, display), unseen)


def intervention_aware_relevance(seen: Evidence, display: Display = None) -> Floats:
    slope, floor = expected(seen, display)
    return np.divide(seen.rate() - floor, slope, out=np.zeros_like(slope), where=slope > 0)
