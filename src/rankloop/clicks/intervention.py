"""What an experiment did to a page: the values of a click log's column `intervention`."""

import re
from typing import NamedTuple

__all__ = ["NONE", "FairPairs", "Intervention", "Shuffle", "Swap", "intervention"]

NONE = "none"  # a page that was part of no experiment


class Swap(NamedTuple):
    """Two ranks exchanged with probability 1/2; pages that were left as they were have the same value.

    >>> str(Swap(1, 4))
    'swap 1-4'
    """

    low: int
    high: int

    def __str__(self) -> str:
        return f"swap {self.low}-{self.high}"


class FairPairs(NamedTuple):
    """Adjacent results swapped with probability 1/2: ranks (1,2), (3,4), ... if `odd`, else (2,3), (4,5), ...

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


def intervention(text: object) -> Swap | FairPairs | Shuffle | None:
    """The intervention that a value of the column stands for; None for "none" and for unknown values.

    >>> intervention("swap 1-4")
    Swap(low=1, high=4)
    >>> intervention("none") is None
    True
    """
    match = _FORMS.fullmatch(str(text))
    if match is None:
        return None
    low, high, side, depth = match.groups()
    if low is not None:
        return Swap(*sorted((int(low), int(high))))
    return FairPairs(side == "odd") if side is not None else Shuffle(int(depth))
