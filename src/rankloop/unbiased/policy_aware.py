"""Inverse propensity scoring over all the pages that could have been shown."""

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias, refuse_trust
from rankloop.unbiased.estimation.display import Display
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled
from rankloop.unbiased.intervention_aware import intervention_aware_relevance

__all__ = ["policy_aware"]


def policy_aware(
    log: Log, propensity: ClickBias, data: RankingDataset, *, display: Display = None, unseen: str = "drop"
) -> RankingDataset:
    r"""Divide by the probability of being shown *and* examined (Oosterhuis & de Rijke, 2020).

    .. math:: y_d = \frac{1}{N_q} \sum_i \frac{c_{id}}{p_d}, \qquad p_d = \sum_k \rho(d \mid q, k) \, \theta_k

    Unbiased under a top-k cut-off as long as every relevant document is shown sometimes. `display` holds
    :math:`\rho`: for each row of the data set its probability at each rank (`display_probability` of a
    Plackett-Luce policy); by default the frequencies of the log.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> policy_aware(ClickLog([1, 2, 3], ["q"] * 3, ["x", "y", "y"], [1, 1, 1], [1, 1, 0]), [1.0], data).y
    array([1. , 0.5], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, policy_aware_relevance(seen, display), unseen)


def policy_aware_relevance(seen: Evidence, display: Display = None) -> Floats:
    refuse_trust(seen.beta, "policy_aware")
    return intervention_aware_relevance(seen, display)
