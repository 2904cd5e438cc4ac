"""Several goals at once: clicks, conversions, time and money as the labels of one data set."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased.after_click import rewards
from rankloop.unbiased.estimation.bias import ClickBias, bias_of, by_page, by_rank, refuse_trust
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.labels import labelled

__all__ = ["goals"]


def goals(
    log: ClickLog,
    propensity: ClickBias,
    data: RankingDataset,
    weights: Mapping[str, float],
    *,
    values: Mapping[str, ArrayLike] | None = None,
    unseen: str = "drop",
) -> RankingDataset:
    r"""Add up several goals as the labels of a data set, each corrected for the position like a click.

    .. math:: y_d = \sum_g \frac{w_g}{m_g} \; \frac{1}{n_d} \sum_{i: d \text{ shown}}
        \frac{c_{id} \, r^g_{id}}{\theta_{k_i(d)}}

    A goal is "click", a column of the log ("conversion", "dwell"), or a name with one number per impression
    in `values` (a margin, say); what comes without a click does not count. :math:`m_g` is the mean of the
    goal over the documents shown, so that a weight says how much a goal matters, in whatever unit it is. One
    goal alone gives labels for that goal: with such data sets by name `rankloop.compare` prints how rankers
    stand on each, and `unbiased.balance` finds weights that keep to constraints.

    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y"] * 2, [1, 2, 1, 2], [1, 0, 1, 1],
    ...                conversion=[0, 0, 0, 1])
    >>> goals(log, [1.0, 0.5], data, {"click": 1.0, "conversion": 1.0}).y
    array([1., 3.], dtype=float32)
    """
    if not weights or any(not np.isfinite(one) or one < 0 for one in weights.values()):
        raise ValueError(f"weights are numbers of at least 0 by goal, got {dict(weights)}")
    if not any(weights.values()):
        raise ValueError("every goal has weight 0; give one of them a weight")
    given = dict(values or {})
    seen = evidence(log, propensity, data)
    shown = np.maximum(seen.by_row(seen.impressions), 1.0)
    examined, row = _examination(log, data, propensity), log.rows(data)
    total = np.zeros(data.n_documents)
    for name, weight in weights.items():
        reward = rewards(log, given.get(name, name))
        if np.any(reward < 0):
            raise ValueError(f"the goal {name!r} has values below 0; shift it, or count it as a cost apart")
        found = np.bincount(row, reward / examined, data.n_documents) / shown
        mean = float(found[seen.shown].mean())
        if mean == 0 and weight > 0:
            raise ValueError(f"nobody reached the goal {name!r} in this log; leave it out, or log for longer")
        total += weight * found / max(mean, 1e-300)
    return labelled(seen, total, unseen)


def _examination(log: ClickLog, data: RankingDataset, propensity: ClickBias) -> Floats:
    """The divisor of each impression."""
    if by_page(propensity):
        chance = propensity.conditional_examination(log, data)  # type: ignore[union-attr]  # by page: it has it
        return np.maximum(chance, 1e-9)
    if not by_rank(propensity):
        raise ValueError("goals of several layouts are corrected one layout at a time; select its pages")
    bias = bias_of(propensity, log.n_positions)
    refuse_trust(bias.beta, "goals")
    return bias.at(log.position)[0]
