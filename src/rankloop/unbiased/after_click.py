"""What a new order would bring after its clicks, from the log of a ranker that never varied its pages."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop._ratio import ratio
from rankloop.clicks import ClickLog, ClickModel
from rankloop.clicks.columns.rows import dataset_documents, places
from rankloop.data import RankingDataset
from rankloop.unbiased.counterfactual_estimate import FEW, CounterfactualEstimate, Scorer
from rankloop.unbiased.estimation.bias import ClickBias, bias_of, by_page, by_rank, refuse_trust
from rankloop.unbiased.estimation.rank_metric import rank_metric, ranked

__all__ = ["after_click", "rewards"]

METHODS = ("ratio", "modelled")
HIDDEN = 0.01  # the share of a new ranking on documents without a click that is worth a warning


def after_click(
    log: ClickLog,
    data: RankingDataset,
    ranker: Scorer | ArrayLike,
    *,
    propensity: ClickBias,
    reward: str | ArrayLike = "conversion",
    method: str = "ratio",
    relevance: ArrayLike | None = None,
) -> CounterfactualEstimate:
    r"""Estimate the reward per page (conversions, seconds, money) that another order would have had.

    A ranker that always shows the same page leaves nothing random but the clicks. They are enough where a
    reward comes after a click only and, once clicked, does not depend on the rank: a click on d is as much
    evidence for another page as it is likelier there,

    .. math:: \hat V = \frac1N \sum_i \sum_d w_{id} \, c_{id} r_{id}, \qquad
        w_{id} = \frac{P(c_d = 1 \mid \text{new page})}{P(c_d = 1 \mid \text{logged page})}

    Unbiased where the ratio is right and every document that the new order shows can have been clicked: for
    position-based people :math:`w = \theta_{k'} / \theta_k` by the curve, whatever is relevant. A click model
    (`DBN`, `TrustPBM`, ...) gives both probabilities by what it learned of each document.

    "modelled" replaces the count of clicks by a model of them and keeps the observed rewards as a correction,

    .. math:: \hat V = \frac1N \sum_i \sum_d \hat p'_d \hat q + w_{id} c_{id} (r_{id} - \hat q)

    with :math:`\hat p' = \theta_{k'} \hat\gamma` by `relevance` (one probability per row of `data`) and
    :math:`\hat q` the mean reward of a click on other queries. It has less variance, and is unbiased where
    `relevance` and the ratio are right, whatever :math:`\hat q` is.

    Documents that were never shown have no click to learn from: their reward counts as 0, and a warning says
    how much of the new ranking they are. `reward` is a column of the log or one number per impression.

    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["x", "y"] * 2, [1, 2, 1, 2], [1, 0, 0, 1],
    ...                conversion=[1, 0, 0, 1])
    >>> after_click(log, data, [1.0, 2.0], propensity=[1.0, 0.5]).value
    1.25
    """
    one_of("method", method, METHODS)
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to estimate")
    earned = rewards(log, reward)
    scores = np.asarray(ranker.predict(data) if hasattr(ranker, "predict") else ranker, np.float64)
    if scores.shape != (data.n_documents,) or np.isnan(scores).any():
        raise ValueError(
            f"a ranker gives one score per row of the data set ({data.n_documents}), got {scores.shape}"
        )
    new, old = _chances(log, data, scores, propensity)
    row = log.rows(data)
    weight = new[row] / old
    value = np.add.reduceat(weight * earned, log.offsets[:-1])
    query = places(log.queries, data.qid)[log.page_query.code]
    if method == "modelled":
        value = value + _control(log, data, earned, weight, new, query, relevance, propensity)
    group = query if log.n_queries >= FEW else np.arange(log.n_pages)
    _, unit = np.unique(group, return_inverse=True)
    pages = np.bincount(unit).astype(np.float64)
    found = ratio(np.asarray(np.bincount(unit, value), np.float64), pages)
    some = weight[earned != 0]
    size = float(some.sum() ** 2 / np.sum(some**2)) if some.any() else 0.0
    name = reward if isinstance(reward, str) else "reward"
    notes = tuple(_warnings(log, data, row, new, query, size))
    return CounterfactualEstimate(f"{name} per page", method, found.value, found.low, found.high, size, notes)


def rewards(log: ClickLog, reward: str | ArrayLike) -> Floats:
    """The reward of each impression, 0 without a click."""
    if isinstance(reward, str):
        one_of("reward", reward, ("click", "conversion", "dwell"))
        column = getattr(log, reward)
        if column is None:
            raise ValueError(
                f"the log has no column {reward!r}; join it to the clicks, or give one number per impression"
            )
    else:
        column = reward
    values = np.nan_to_num(np.asarray(column, np.float64))  # dwell is missing without a click
    if values.shape != (len(log),):
        raise ValueError(f"reward is one number per impression ({len(log)}), got {values.shape}")
    if np.any(values[log.click == 0] != 0):
        raise ValueError(
            "a reward without a click cannot be corrected; set it to 0, or count the click before it"
        )
    return values * log.click


def _chances(
    log: ClickLog, data: RankingDataset, scores: Floats, propensity: ClickBias
) -> tuple[Floats, Floats]:
    """In one unit: the chance of a click on each row of the new ranking, and on each impression."""
    if isinstance(propensity, ClickModel):
        old = propensity.click_probability(log, data)
        order, _, index = ranked(scores, data.offsets)
        shown = order[index < log.n_positions]
        names = dataset_documents(data)
        pages = RankingDataset(data.X[shown], data.y[shown], data.row_qid[shown], docid=names[shown])
        new = np.zeros(data.n_documents)
        new[shown] = propensity.click_probability(pages)
        if np.any(old <= 0):
            raise ValueError(
                f"{type(propensity).__name__} gives clicks of this log probability 0; fit it to this log"
            )
        return new, old
    if not by_rank(propensity):
        raise ValueError("rewards of several layouts are estimated one layout at a time; select its pages")
    bias = bias_of(propensity, log.n_positions)
    refuse_trust(bias.beta, "after_click")
    old, _ = bias.at(log.position)
    depth = min(log.n_positions, len(bias.alpha))
    return rank_metric(f"ctr@{depth}").weights(scores, data.offsets, bias.alpha), old


def _control(
    log: ClickLog,
    data: RankingDataset,
    earned: Floats,
    weight: Floats,
    new: Floats,
    query: ArrayLike,
    relevance: ArrayLike | None,
    propensity: ClickBias,
) -> Floats:
    """For each page the modelled clicks minus the observed ones, times the mean reward of a click."""
    if relevance is None and not by_page(propensity):
        raise ValueError(
            "modelled needs relevance=, the probability that each row of the data set is relevant, such as "
            "unbiased.relevance(log, propensity, data, method='direct_method')"
        )
    chance = new if relevance is None else new * np.asarray(relevance, np.float64)
    if chance.shape != (data.n_documents,) or not np.all(np.isfinite(chance)):
        raise ValueError(f"relevance is one probability per row ({data.n_documents})")
    at = np.asarray(query)
    clicks, total = log.click.sum(dtype=np.float64), earned.sum()
    own = [np.bincount(at[log.row_page], one, data.n_queries) for one in (log.click, earned)]
    mean = ((total - own[1]) / np.maximum(clicks - own[0], 1.0))[at]
    expected = np.bincount(data.row_query, chance, data.n_queries)[at]
    observed = np.add.reduceat(weight * log.click, log.offsets[:-1])
    return np.asarray(mean * (expected - observed), np.float64)


def _warnings(
    log: ClickLog, data: RankingDataset, row: ArrayLike, new: Floats, query: ArrayLike, size: float
) -> Iterator[str]:
    if size < 100:
        yield f"the effective sample size is {size:.0f} rewards only; log for longer"
    if log.n_queries < FEW:
        yield f"fewer than {FEW} queries: the interval is over pages, not queries"
    pages = np.bincount(np.asarray(query), minlength=data.n_queries)[data.row_query]
    never = np.bincount(np.asarray(row), minlength=data.n_documents) == 0
    hidden = float((new * pages)[never].sum() / max(float((new * pages).sum()), 1e-300))
    if hidden > HIDDEN:
        yield (
            f"{hidden:.0%} of what the new ranking lets people see was never shown: nothing is known "
            "about it, and it counts as 0"
        )
