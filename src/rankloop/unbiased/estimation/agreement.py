"""Whether clicks agree with the curve, or with the model of relevance, that an estimate takes for true."""

from collections.abc import Iterator, Sequence

import numpy as np

from rankloop._arrays import Floats
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["against_curve", "against_model"]

CERTAIN = 0.001  # p-value from which on a disagreement is reported
ROUNDING = 1e-9  # a difference of clicks that is a smaller share of them is none
LARGE = 0.05  # a model of relevance that is off by less is not worth a warning


def against_curve(seen: Evidence, others: Sequence[Evidence] = ()) -> Iterator[str]:
    r"""Says so where clicks fall faster or slower with the rank than the curve.

    With n impressions and c clicks (less those of trust) of document d at rank k, and the document's clicks
    per examination, :math:`\hat\gamma_d = \sum_k c_{dk} / \sum_k n_{dk} \alpha_k`, the sum

    .. math:: \sum_{d, k} (c_{dk} - n_{dk} \alpha_k \hat\gamma_d) \log k

    has mean 0 where the curve is right, whatever the relevance. Its spread is that between queries, and that
    under `others`, further curves that could be the true one.
    """
    by_query = _trend(seen)
    used = by_query[by_query != 0]
    spread = np.sum(used**2) + np.var([_trend(one).sum() for one in others] or [0.0])
    p_value = _p_value(float(used.sum()), float(spread), len(used))
    if p_value < CERTAIN:
        how = "faster" if used.sum() < 0 else "more slowly"
        yield (
            f"clicks on the same documents fall {how} with the rank than the curve says (p = {p_value:.1g}): "
            "it is of other people, or these trust high ranks or stop reading; estimates from it are wrong"
        )


def against_model(seen: Evidence, relevance: Floats) -> Iterator[str]:
    r"""Says so where documents get more or fewer clicks than their modelled relevance gives, beyond chance.

    For one document the square of clicks minus expected clicks has the variance v of the clicks as its mean
    where the model is right, and :math:`2 v^2 + v` at most as its variance.
    """
    from scipy.special import ndtr

    chance = np.clip(seen.alpha * relevance[seen.row] + seen.beta, 0.0, 1.0)
    examined = seen.by_row(seen.impressions * seen.alpha)
    off = seen.by_row(seen.clicks - seen.impressions * chance)
    variance = seen.by_row(seen.impressions * chance * (1 - chance))
    excess = float(np.sum(off**2 - variance))
    p_value = float(ndtr(-excess / np.sqrt(max(float(np.sum(2 * variance**2 + variance)), 1e-300))))
    typical = np.sqrt(max(excess, 0.0) / max(float(examined @ examined), 1e-300))
    if p_value < CERTAIN and typical > LARGE:
        yield (
            f"the relevance of a document is {typical:.2f} off the model, typically (p = {p_value:.1g}): "
            "the estimate is as wrong as its model; use doubly_robust"
        )


def _trend(seen: Evidence) -> Floats:
    """The clicks beyond those that the curve gives to each rank, times log rank, summed by query."""
    clicks = seen.clicks - seen.impressions * seen.beta
    expected = seen.impressions * seen.alpha
    gamma = seen.by_row(clicks) / np.maximum(seen.by_row(expected), 1e-300)
    off = clicks - expected * gamma[seen.row]
    off[np.abs(off) <= ROUNDING * np.maximum(np.abs(clicks), 1.0)] = 0.0  # of documents at one rank only
    beyond = off * np.log(seen.position)
    return np.asarray(np.bincount(seen.data.row_query[seen.row], beyond, seen.data.n_queries), np.float64)


def _p_value(total: float, variance: float, units: int) -> float:
    """Of a sum over independent units with mean 0, two-sided; 1 for less than three."""
    from scipy.special import stdtr

    if units < 3 or not variance > 0:
        return 1.0
    return float(2 * stdtr(units - 1, -abs(total) / np.sqrt(variance)))
