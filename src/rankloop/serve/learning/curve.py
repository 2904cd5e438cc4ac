"""A propensity curve from few swapped pages, shrunk towards a power of the rank."""

from dataclasses import replace

import numpy as np

from rankloop.propensity import Propensity

__all__ = ["shrunk"]

SPREAD = 0.3  # standard deviation of a rank's log propensity around the power of the rank
UNKNOWN = 1e6  # variance of a rank that the curve does not reach
STEEP = 1.0  # prior standard deviation of the exponent


def shrunk(curve: Propensity, *, depth: int | None = None, spread: float = SPREAD) -> Propensity:
    r"""The curve shrunk towards a power of the rank, as far as its covariance allows.

    .. math:: \log\theta_k = -\eta \log k + \epsilon_k, \qquad \epsilon_k \sim N(0, s^2)

    with a weak prior on :math:`\eta` around 1. The result is the mean and covariance of the normal posterior,
    so that with a long log the prior has little weight. Its interval is too wide where the curve is a power
    of the rank, and `method` says so. `depth` is the last rank; ranks that the curve does not reach follow
    the prior.

    >>> vague = np.diag([0.0, 0.01, 4.0])
    >>> curve = Propensity(np.array([1, 0.5, 0.02]), np.ones(3), np.ones(3), "swaps", log_covariance=vague)
    >>> shrunk(curve).values.round(2)
    array([1.  , 0.5 , 0.27])
    """
    if len(curve) < 2 or curve.log_covariance is None:
        return curve
    ranks = len(curve) if depth is None else max(depth, len(curve))
    steps = np.log(np.arange(2.0, ranks + 1))
    observed, noise = -steps, np.eye(ranks - 1) * UNKNOWN
    observed[: len(curve) - 1] = np.log(curve.values[1:])
    noise[: len(curve) - 1, : len(curve) - 1] = curve.log_covariance[1:, 1:]
    mean = -steps
    prior = STEEP**2 * np.outer(steps, steps) + spread**2 * np.eye(len(steps))
    learned = np.linalg.solve(prior + noise, prior).T
    center = mean + learned @ (observed - mean)
    left = prior - learned @ prior
    covariance = np.zeros((ranks, ranks))
    covariance[1:, 1:] = (left + left.T) / 2
    values = np.exp(np.concatenate(([0.0], center)))
    reach = np.exp(1.96 * np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    return replace(
        curve,
        values=values,
        low=values / reach,
        high=values * reach,
        log_covariance=covariance,
        resamples=None,
        method=f"{curve.method}, shrunk towards a power of the rank (if it is one, the interval is wide)",
    ).monotone()
