"""Clicks corrected for position and for trust."""

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["affine"]


def affine(log: Log, propensity: ClickBias, data: RankingDataset, *, unseen: str = "drop") -> RankingDataset:
    r"""Subtract the clicks that come from trust bias, then divide (Vardasbi et al., 2020).

    .. math:: y_d = \frac{1}{n_d} \sum_{i: d \text{ shown}} \frac{c_{id} - \beta_{k_i(d)}}{\alpha_{k_i(d)}}

    `propensity` is a `TrustPBM` with its alpha and beta; under a plain curve this is ips. The mean is over
    the pages that show the document. One that was shown and not clicked gets a negative estimate, so
    non-clicks must be in the log.

    >>> from rankloop.clicks import ClickLog, TrustPBM
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> user = TrustPBM(relevant=[1.0, 0.5], other=[0.5, 0.0], attraction=0.5)
    >>> affine(ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [1, 1]), user, data).y
    array([1., 2.], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, affine_relevance(seen), unseen)


def affine_relevance(seen: Evidence) -> Floats:
    return seen.by_row((seen.clicks - seen.impressions * seen.beta) / seen.alpha) / seen.row_impressions
