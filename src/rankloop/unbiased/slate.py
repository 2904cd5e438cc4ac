"""The value of a ranking policy from pages that another one showed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop._ratio import ratio
from rankloop.clicks import ClickLog
from rankloop.unbiased.counterfactual_estimate import FEW, CounterfactualEstimate
from rankloop.unbiased.plackett_luce import PlackettLuce

__all__ = ["slate"]

METHODS = ("cascade_dr", "independent", "reward_interaction", "standard")


def slate(
    log: ClickLog,
    target: ArrayLike,
    *,
    logged: ArrayLike | None = None,
    method: str = "reward_interaction",
    baseline: tuple[ArrayLike, ArrayLike] | None = None,
    weight: ArrayLike | None = None,
    self_normalised: bool = False,
    additive: bool = False,
) -> CounterfactualEstimate:
    r"""Clicks per page (times `weight` by rank) under another policy, with probability ratios :math:`w_k`.

    "standard" (Li et al., 2018) weights a page by :math:`\prod_k w_k` and assumes nothing about users;
    "reward_interaction" (McInerney et al., 2020) weights rank k by :math:`w_{1:k}`, assuming that documents
    below do not matter; "independent" by :math:`w_k` alone, assuming that no other document matters. `target`
    and `logged` (the column `propensity` of the log) are the probability of each impression given what is
    above it, for "independent" of the impression alone: `PlackettLuce(...).conditional(log)` or
    `.marginal(log)`.
    "cascade_dr" (Kiyohara et al., 2022) adds a model:

    .. math:: \sum_k w_{1:k-1} \big( w_k (r_k - \hat Q_k) + \mathbb{E}_{\pi} \hat Q_k \big)

    with `baseline` the pair of :math:`\hat Q_k` and its mean under the target, one number per impression each
    (`PlackettLuce.expectation` gives the mean). The interval is over queries, or over pages if there are few.

    The weights of a rank have mean 1 wherever the logged policy could show what the target shows. `additive`
    uses that as a control variate, :math:`w_k r_k - \beta_k (w_k - 1)` with the :math:`\beta_k` that have the
    least variance on other queries: unlike `self_normalised`, which divides by the mean weight, it stays
    unbiased in small logs.

    >>> log = ClickLog([1, 2], ["q", "q"], ["a", "b"], [1, 1], [1, 0])
    >>> slate(log, target=[0.9, 0.1], logged=[0.5, 0.5], method="standard").value
    0.9
    """
    one_of("method", method, METHODS)
    ratio = _ratios(log, target, logged)
    reward = log.click.astype(np.float64)
    rank = log.position - 1
    if weight is not None:
        reward = reward * np.asarray(weight, np.float64)[rank]
    if method == "independent":
        mass = ratio
    else:
        mass = _prefix(ratio, log.offsets)
        if method == "standard":
            last = log.offsets[1:] - 1
            mass = np.repeat(mass[last], log.lengths)
    if additive and (self_normalised or method == "cascade_dr"):
        raise ValueError(
            "additive replaces self_normalised, and cascade_dr has a control variate of its own: choose one"
        )
    if method == "cascade_dr":
        value = _cascade(log, mass, ratio, reward, baseline, self_normalised)
        below = np.ones(log.n_pages)
    elif self_normalised:
        value, below = _normalised(log, mass, reward)
    elif additive:
        value, below = _controlled(log, mass, reward), np.ones(log.n_pages)
    else:
        value, below = np.add.reduceat(mass * reward, log.offsets[:-1]), np.ones(log.n_pages)
    return _summed_up(log, method, mass, value, below)


def _ratios(log: ClickLog, target: ArrayLike, logged: ArrayLike | None) -> Floats:
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to estimate")
    given = log.propensity if logged is None else logged
    if given is None:
        raise ValueError(
            "the log has no column propensity; log the probability of each impression, or pass logged=, such "
            "as PlackettLuce(data, ranker, temperature).conditional(log)"
        )
    for name, one in (("target", target), ("logged", given)):
        if isinstance(one, PlackettLuce):
            raise ValueError(
                f"{name}= is one probability per impression, got a PlackettLuce policy; pass its "
                ".conditional(log), or its .marginal(log) for the method independent"
            )
    new, old = np.asarray(target, np.float64), np.asarray(given, np.float64)
    for name, probability in (("target", new), ("logged", old)):
        if probability.shape != (len(log),) or not np.all((probability >= 0) & (probability <= 1 + 1e-9)):
            raise ValueError(
                f"{name} is one probability per impression ({len(log)}), got {probability.shape}"
            )
    if np.any(old == 0):
        raise ValueError("logged has probability 0 for an impression that was shown; check it")
    return np.asarray(new / old, np.float64)


def _prefix(ratio: Floats, offsets: Any) -> Floats:
    """The product of the ratios down to each impression, page by page."""
    logs = np.cumsum(np.log(np.maximum(ratio, 1e-300)))
    before = np.concatenate(([0.0], logs))[offsets[:-1]]
    return np.asarray(np.exp(logs - np.repeat(before, np.diff(offsets))), np.float64)


def _cascade(
    log: ClickLog,
    mass: Floats,
    ratio: Floats,
    reward: Floats,
    baseline: tuple[ArrayLike, ArrayLike] | None,
    self_normalised: bool,
) -> Floats:
    if baseline is None or self_normalised:
        raise ValueError(
            "cascade_dr needs baseline=(value, mean under the target), one number per impression each, and "
            "has no self-normalised form"
        )
    guess, mean = (np.asarray(one, np.float64) for one in baseline)
    above = np.concatenate(([1.0], mass[:-1]))
    above[log.offsets[:-1]] = 1.0
    return np.add.reduceat(mass * (reward - guess) + above * mean, log.offsets[:-1])


def _normalised(log: ClickLog, mass: Floats, reward: Floats) -> tuple[Floats, Floats]:
    """The mean reward of each rank, weighted by the mass at that rank; linearised residuals by page."""
    rank = log.position - 1
    shown = np.bincount(rank)
    total = np.bincount(rank, mass)
    scale = np.divide(shown, total, out=np.zeros(len(total)), where=total > 0)
    mean = np.bincount(rank, mass * reward) * scale / np.maximum(shown, 1)
    residual = mass * scale[rank] * (reward - mean[rank]) + mean[rank]
    return np.add.reduceat(residual, log.offsets[:-1]), np.ones(log.n_pages)


def _controlled(log: ClickLog, mass: Floats, reward: Floats) -> Floats:
    """The weighted rewards of each page minus a multiple of what their weights have more than 1.

    The multiple of a page is that of the other half of the queries (of the pages, if there are few): it does
    not depend on the page, so the mean of what is subtracted is 0.
    """
    page = log.row_page
    unit = log.page_query.code if log.n_queries >= FEW else np.arange(log.n_pages)
    half, rank, depth = unit[page] % 2, log.position - 1, log.n_positions
    plain = mass * reward
    value = plain.copy()
    for one in (0, 1):
        other, own = half != one, half == one
        at, shown = rank[other], np.bincount(rank[other], minlength=depth)
        excess = mass[other] - 1.0
        spread = np.bincount(at, excess * excess, depth)
        middle = np.bincount(at, plain[other], depth) / np.maximum(shown, 1)
        together = np.bincount(at, excess * (plain[other] - middle[at]), depth)
        beta = np.divide(together, spread, out=np.zeros(depth), where=spread > 0)
        value[own] = plain[own] - beta[rank[own]] * (mass[own] - 1.0)
    return np.add.reduceat(value, log.offsets[:-1])


def _summed_up(
    log: ClickLog, method: str, mass: Floats, value: Floats, below: Floats
) -> CounterfactualEstimate:
    pages = mass[log.offsets[1:] - 1]
    effective = float(pages.sum() ** 2 / max(np.sum(pages**2), 1e-300))
    warnings = []
    if effective < max(100, 0.01 * log.n_pages):
        warnings.append(
            f"the effective sample size of {log.n_pages:,} pages is {effective:,.0f}: the policies show "
            "different pages; use a method with less variance, or log with a policy nearer to the target"
        )
    group = log.page_query.code.astype(np.int64)
    if log.n_queries < FEW:
        group = np.arange(log.n_pages)
        warnings.append(f"fewer than {FEW} queries: the interval is over pages, not queries")
    _, place = np.unique(group, return_inverse=True)
    sums = [np.asarray(np.bincount(place, one), np.float64) for one in (value, below)]
    found = ratio(*sums)
    return CounterfactualEstimate(
        "clicks per page", method, found.value, found.low, found.high, effective, tuple(warnings)
    )
