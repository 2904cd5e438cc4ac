"""The clicks of a log by position, for people who look at it."""

import numpy as np

from rankloop._arrays import Array
from rankloop._table import Table

__all__ = ["by_position"]

_SHOWN = 10  # positions


def by_position(title: str, position: Array, click: Array) -> Table:
    """Impressions, clicks and click rate of the first positions.

    >>> print(by_position("two pages", np.array([1, 2, 1]), np.array([1, 0, 0])).plain())
    two pages
    position  impressions  clicks  click rate
    1                   2       1      0.5000
    2                   1       0      0.0000
    """
    shown = np.bincount(position)[1 : _SHOWN + 1]
    clicked = np.bincount(position, weights=click)[1 : _SHOWN + 1]
    rows = [
        (str(rank), f"{int(n):,}", f"{int(c):,}", f"{c / n:.4f}" if n else "")
        for rank, (n, c) in enumerate(zip(shown, clicked, strict=True), 1)
    ]
    return Table(("position", "impressions", "clicks", "click rate"), rows, title=title)
