"""A model of relevance, corrected by the clicks that it did not predict."""

from typing import Unpack

import numpy as np

from rankloop._arrays import Floats
from rankloop._options import passes_to
from rankloop.data import RankingDataset
from rankloop.unbiased.clipped import bound
from rankloop.unbiased.direct_method import ModelOptions, relevance_of
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.display import Display, expected
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["doubly_robust"]


@passes_to(relevance_of)
def doubly_robust(
    log: Log,
    propensity: ClickBias,
    data: RankingDataset,
    *,
    display: Display = None,
    tau: float | None = None,
    unseen: str = "keep",
    **model: Unpack[ModelOptions],
) -> RankingDataset:
    r"""The direct method plus the inverse propensity estimate of its error (Oosterhuis, 2023).

    .. math:: y_d = \hat\gamma_d + \frac{1}{N_q} \sum_i
        \frac{c_{id} - \beta_{k_i(d)} - \alpha_{k_i(d)} \hat\gamma_d}{\max(\tau, \bar\alpha_d)}

    Unbiased if the model of relevance is right, or if the display probabilities are and nothing is clipped;
    alpha and beta by rank must be right in both cases. A document that was never shown keeps its
    :math:`\hat\gamma`. `relevance`, `ranker` and `folds` as in `direct_method`, `display` as in
    `policy_aware`, `tau` as in `clipped`.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [1, 1])
    >>> doubly_robust(log, [1.0, 0.5], data, relevance=[0.2, 0.7], tau=0.0).y
    array([1., 2.], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    guess = relevance_of(seen, **model)
    return labelled(seen, doubly_robust_relevance(seen, guess, display, tau), unseen)


def doubly_robust_relevance(
    seen: Evidence, guess: Floats, display: Display = None, tau: float | None = None
) -> Floats:
    slope = np.maximum(expected(seen, display)[0], bound(seen, tau))
    error = seen.rate() - seen.floor() - seen.slope() * guess
    return guess + np.divide(error, slope, out=np.zeros_like(error), where=slope > 0)
