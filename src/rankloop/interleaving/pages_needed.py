"""How many pages an experiment needs."""

from math import ceil

__all__ = ["normal_quantile", "page_variance", "pages_needed"]


def pages_needed(
    difference: float,
    *,
    ties: float = 0.0,
    confidence: float = 0.95,
    wanted_power: float = 0.8,
    pages_per_user: float = 1.0,
    within_user: float = 0.0,
) -> int:
    r"""How many pages show a `difference` between the shares of wins and losses (0.02: 51 % against 49 %).

    .. math:: n = (z_c + z_{power})^2 \; \frac{(1 - ties) - d^2}{d^2} \; \bigl(1 + (m - 1) \rho\bigr)

    with :math:`z_c` the two-sided quantile of `confidence`, and m pages per user that correlate by
    :math:`\rho` (`within_user`).

    >>> pages_needed(0.02)
    19615
    >>> pages_needed(0.02, ties=0.5)
    9804
    """
    variance = page_variance(difference, ties, pages_per_user, within_user)
    z = normal_quantile((1 + confidence) / 2) + normal_quantile(wanted_power)
    return ceil(z * z * variance / difference**2)


def page_variance(difference: float, ties: float, pages_per_user: float, within_user: float) -> float:
    """The variance of one page's outcome, inflated where pages of a user correlate."""
    if not 0 <= ties < 1:
        raise ValueError(f"ties is a share in [0, 1), got {ties}")
    if not 0 < abs(difference) <= 1 - ties:
        raise ValueError(f"the difference lies between 0 and 1 - ties = {1 - ties:g}, got {difference}")
    if pages_per_user < 1 or not 0 <= within_user <= 1:
        raise ValueError("pages_per_user is at least 1 and within_user in [0, 1]")
    return float(((1 - ties) - difference**2) * (1 + (pages_per_user - 1) * within_user))


def normal_quantile(p: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri

    if not 0 < p < 1:
        raise ValueError(f"confidence and power lie in (0, 1), got {p}")
    return float(ndtri(p))
