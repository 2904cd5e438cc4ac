"""What an experiment did to a page: the values of a click log's column `intervention`."""

import re
from typing import NamedTuple

__all__ = ["NONE", "FairPairs", "Intervention", "Shuffle", "Swap", "intervention"]

NONE = "none"  # a page outside every experiment


class Swap(NamedTuple):
    """Two ranks that a coin may have exchanged, also where the coin left them as they were.

    >>> str(Swap(1, 4))
    'swap 1-4'
    """

    low: int
    high: int

    def __str__(self) -> str:
        return f"swap {self.low}-{self.high}"


class FairPairs(NamedTuple):
    """Neighbours that coins may have exchanged: ranks (1,2), (3,4), ... if `odd`, else (2,3), (4,5), ...

    >>> str(FairPairs(odd=True))
    'fairpairs odd'
    """

    odd: bool

    def __str__(self) -> str:
        return "fairpairs odd" if self.odd else "fairpairs even"


class Shuffle(NamedTuple):
    """The first `depth` ranks in random order.

    >>> str(Shuffle(5))
    'shuffle 5'
    """

    depth: int

    def __str__(self) -> str:
        return f"shuffle {self.depth}"


Intervention = Swap | FairPairs | Shuffle

_FORMS = re.compile(r"swap (\d+)-(\d+)|fairpairs (odd|even)|shuffle (\d+)")


def intervention(text: object) -> Intervention | None:
    """The intervention that a value of the column names; None for "none" and for words of others.

    >>> intervention("swap 1-4")
    Swap(low=1, high=4)
    >>> intervention("none") is None
    True
    """
    found = _FORMS.fullmatch(str(text))
    if found is None:
        return None
    low, high, side, depth = found.groups()
    if low is not None:
        return Swap(int(low), int(high))
    return FairPairs(side == "odd") if side is not None else Shuffle(int(depth))
