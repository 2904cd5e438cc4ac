"""A curve from few swapped pages, steadied by a plain shape where its own evidence leaves room."""

from dataclasses import replace

import numpy as np

from rankloop.propensity import Propensity

__all__ = ["steadied"]

SPREAD = 0.3  # by how much (as a logarithm) a rank departs from the plain shape
UNKNOWN = 1e6  # the variance of what was not told
STEEP = 1.0  # how sure we are of its steepness before any page was swapped


def steadied(curve: Propensity, *, depth: int | None = None, spread: float = SPREAD) -> Propensity:
    r"""The curve drawn towards a power of the rank, as far as its own evidence leaves room.

    .. math:: \log\theta_k = -\eta \log k + \epsilon_k, \qquad \epsilon_k \sim N(0, s^2)

    with a weak prior on :math:`\eta` around 1; what swapped pages say comes with its covariance, so that a
    long log decides for itself. The mean and covariance are those of the normal posterior. `depth` is the
    last rank; ranks that the curve does not reach follow the shape alone.

    >>> vague = np.diag([0.0, 0.01, 4.0])
    >>> curve = Propensity(np.array([1, 0.5, 0.02]), np.ones(3), np.ones(3), "swaps", log_covariance=vague)
    >>> steadied(curve).values.round(2)
    array([1.  , 0.5 , 0.27])
    """
    if len(curve) < 2 or curve.log_covariance is None:
        return curve
    ranks = len(curve) if depth is None else max(depth, len(curve))
    steps = np.log(np.arange(2.0, ranks + 1))
    told, noise = -steps, np.eye(ranks - 1) * UNKNOWN
    told[: len(curve) - 1] = np.log(curve.values[1:])
    noise[: len(curve) - 1, : len(curve) - 1] = curve.log_covariance[1:, 1:]
    mean = -steps
    prior = STEEP**2 * np.outer(steps, steps) + spread**2 * np.eye(len(steps))
    learned = np.linalg.solve(prior + noise, prior).T
    center = mean + learned @ (told - mean)
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
        method=f"{curve.method}, steadied",
    ).monotone()
