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
    r"""IPS, scaled so that it adds up to the relevance that clicks and examinations have in all.

    .. math:: y_d = \hat\gamma_d \, \frac{R}{\sum_q N_q \sum_d \hat\gamma_d}, \qquad
        R = \sum_q N_q \sum_d \frac{\sum_i c_{id}}{\sum_i \theta_{k_i(d)}}, \qquad
        \hat\gamma = \text{the estimate of ips}

    What is normalised is the sum of the weights (Swaminathan & Joachims, 2015): that of ips rests on few
    clicks with large weights, R on all clicks alike, and both estimate the relevance on a page. Labels have
    the unit of `ips`. A constant c added to the weight of every document adds c times the relevance of a page
    to an estimate, whatever the weights of the clicks. One factor serves the whole log: to scale each query
    by its own clicks would change what is estimated. Where every document keeps its rank, this is ips.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y", "y", "x"], [1, 2, 1, 2], [1, 0, 0, 1])
    >>> snips(log, [1.0, 0.25], data).y  # ips gives 2.5 and 0
    array([1.6, 0. ], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, snips_relevance(seen), unseen)


def snips_relevance(seen: Evidence) -> Floats:
    found = ips_relevance(seen)
    total, whole = (float(one.sum()) for one in totals(seen))
    if total == 0:
        raise ValueError("nothing was clicked, so there is no sum of weights to divide by; use ips")
    return found * (whole / total)


def totals(seen: Evidence) -> tuple[Floats, Floats]:
    """For each query its pages times its relevance, by the weights of ips and by clicks over examinations."""
    examined = seen.by_row(seen.impressions * seen.alpha)
    plain = np.divide(seen.by_row(seen.clicks), examined, out=np.zeros(len(examined)), where=examined > 0)
    by_weights, by_clicks = (
        np.bincount(seen.data.row_query, one, seen.data.n_queries) * seen.sessions
        for one in (ips_relevance(seen), plain)
    )
    return by_weights, by_clicks
