"""How many pages an experiment needs."""

from math import ceil, sqrt

__all__ = ["pages_needed", "power"]


def pages_needed(
    difference: float,
    *,
    ties: float = 0.0,
    error: float = 0.05,
    wanted_power: float = 0.8,
    pages_per_user: float = 1.0,
    within_user: float = 0.0,
) -> int:
    r"""How many pages show a `difference` between the shares of wins and losses (0.02: 51 % against 49 %).

    .. math:: n = (z_{1 - e/2} + z_{power})^2 \; \frac{(1 - ties) - d^2}{d^2} \; \bigl(1 + (m - 1) \rho\bigr)

    with m pages per user that correlate by :math:`\rho` (`within_user`).

    >>> pages_needed(0.02)
    19615
    >>> pages_needed(0.02, ties=0.5)
    9804
    """
    spread = _spread(difference, ties, pages_per_user, within_user)
    z = _quantile(1 - error / 2) + _quantile(wanted_power)
    return ceil(z * z * spread / difference**2)


def power(
    difference: float,
    pages: int,
    *,
    ties: float = 0.0,
    error: float = 0.05,
    pages_per_user: float = 1.0,
    within_user: float = 0.0,
) -> float:
    """The chance that `pages` pages show a difference of this size.

    >>> round(power(0.02, 19615), 3)
    0.8
    """
    if pages < 1:
        raise ValueError(f"pages must be at least 1, got {pages}")
    spread = _spread(difference, ties, pages_per_user, within_user)
    from scipy.special import ndtr

    shift = abs(difference) / sqrt(spread / pages)
    z = _quantile(1 - error / 2)
    return float(ndtr(shift - z) + ndtr(-shift - z))


def _spread(difference: float, ties: float, pages_per_user: float, within_user: float) -> float:
    if not 0 <= ties < 1:
        raise ValueError(f"ties is a share in [0, 1), got {ties}")
    if not 0 < abs(difference) <= 1 - ties:
        raise ValueError(f"the difference lies between 0 and 1 - ties = {1 - ties:g}, got {difference}")
    if pages_per_user < 1 or not 0 <= within_user <= 1:
        raise ValueError("pages_per_user is at least 1 and within_user in [0, 1]")
    return float(((1 - ties) - difference**2) * (1 + (pages_per_user - 1) * within_user))


def _quantile(p: float) -> float:
    from scipy.special import ndtri

    if not 0 < p < 1:
        raise ValueError(f"error and power lie in (0, 1), got {p}")
    return float(ndtri(p))
