"""Inverse propensity scoring."""

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import ClickBias, refuse_trust
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["ips"]


def ips(log: Log, propensity: ClickBias, data: RankingDataset, *, unseen: str = "drop") -> RankingDataset:
    r"""Each click is divided by the propensity of its rank (Joachims et al., 2017; Wang et al., 2016).

    .. math:: y_d = \frac{1}{n_d} \sum_{i: d \text{ shown}} \frac{c_{id}}{\theta_{k_i(d)}}

    The mean is over the :math:`n_d` pages that show the document: on the others nothing was learned about it.
    Unbiased for position-based users and documents that were shown. A click model of people who stop reading
    (`DBN`, `Cascade`, ...) in place of a curve divides each click by the probability of examination given the
    clicks above it (CM-IPS; Vardasbi et al., 2020).

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y"] * 2, [1, 2, 1, 2], [1, 0, 1, 1])
    >>> ips(log, [1.0, 0.5], data).y
    array([1., 1.], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, ips_relevance(seen), unseen)


def ips_relevance(seen: Evidence) -> Floats:
    refuse_trust(seen.beta, "ips")
    return seen.by_row(seen.clicks / seen.alpha) / seen.row_impressions
