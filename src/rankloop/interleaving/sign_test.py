"""The exact sign test."""

__all__ = ["sign_test"]


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p-value that wins and losses are equally likely; ties do not count.

    >>> round(sign_test(8, 2), 4)
    0.1094
    """
    from scipy.special import bdtr

    n = wins + losses
    return min(1.0, 2.0 * float(bdtr(min(wins, losses), n, 0.5))) if n else 1.0
