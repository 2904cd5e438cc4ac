"""How many sessions of which experiment a wanted precision takes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog

__all__ = ["Swap", "SwapPlan", "click_rates", "plan_swaps", "spread_of_swap"]

DESIGNS = ("swap", "adjacent", "fairpairs", "shuffle")
REACH = 1.959963984540054  # standard errors on each side of a 95 % interval


@dataclass(frozen=True, slots=True)
class Swap:
    """Ranks to exchange with probability 1/2, and on how many pages to toss the coin."""

    low: int
    high: int
    sessions: int


@dataclass(frozen=True, slots=True, repr=False)
class SwapPlan:
    """The pages an experiment takes; `swaps` says how they divide where the design lets one choose."""

    design: str
    precision: float
    ranks: int
    sessions: int
    swaps: tuple[Swap, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        lines = [
            f"{self.design}: {self.sessions:,} pages for every rank to {self.ranks} within "
            f"{self.precision:.0%} (95 % interval)"
        ]
        lines += [f"  swap {one.low}-{one.high}: {one.sessions:,} pages" for one in self.swaps]
        return "\n".join(lines)


def plan_swaps(
    source: ClickLog | Aggregate | ArrayLike,
    *,
    precision: float = 0.1,
    design: str = "swap",
    depth: int | None = None,
) -> SwapPlan:
    r"""The pages after which the 95 % interval of every theta_k is within `precision` of it.

    A page of a swap of ranks a and b adds to the variance of log theta_b / theta_a

    .. math:: \frac{1}{n} \left( \frac{1 - p_a}{p_a} + \frac{1 - p_b}{p_b} \right)

    with click rates p, given as such or counted in a log. Along a chain ("adjacent", "fairpairs") variances
    add, so its pages are divided in proportion to the square roots of these terms. Swaps bring better
    documents down than a log shows there, so the plan errs on the side of too many pages.

    >>> plan_swaps([0.4, 0.2, 0.1], precision=0.1)
    swap: 6,147 pages for every rank to 3 within 10% (95 % interval)
      swap 1-2: 2,113 pages
      swap 1-3: 4,034 pages
    """
    one_of("design", design, DESIGNS)
    if not 0 < precision < 1:
        raise ValueError(f"precision is a share between 0 and 1, such as 0.1, got {precision}")
    rates = click_rates(source)[:depth]
    if len(rates) < 2 or np.any(rates <= 0) or np.any(rates >= 1):
        raise ValueError(
            f"a plan needs the click rate of two ranks or more, each above 0 and below 1, got {rates}"
        )
    wanted = (precision / REACH) ** 2
    if design in ("swap", "shuffle"):
        needed = np.ceil([spread_of_swap(rates[0], rate) / wanted for rate in rates[1:]]).astype(int)
        if design == "shuffle":
            return SwapPlan(design, precision, len(rates), int(needed.max()), ())
        swaps = tuple(Swap(1, rank, int(n)) for rank, n in enumerate(needed, 2))
        return SwapPlan(design, precision, len(rates), int(needed.sum()), swaps)
    root = np.sqrt([spread_of_swap(a, b) for a, b in pairwise(rates)])
    needed = np.ceil(root * root.sum() / wanted).astype(int)
    if design == "adjacent":
        swaps = tuple(Swap(rank, rank + 1, int(n)) for rank, n in enumerate(needed, 1))
        return SwapPlan(design, precision, len(rates), int(needed.sum()), swaps)
    # a page exchanges every other pair: each pair is tossed on half of the pages
    pages = int(np.ceil(2 * np.sum(root**2) / wanted))
    return SwapPlan(design, precision, len(rates), pages, ())


def spread_of_swap(first: float, second: float) -> float:
    """The variance that one page of a swap leaves in the logarithm of the ratio."""
    return (1 - first) / first + (1 - second) / second


def click_rates(source: ClickLog | Aggregate | ArrayLike | Sequence[float]) -> NDArray[np.float64]:
    """Clicks by impressions at each rank; numbers are taken as such."""
    if isinstance(source, ClickLog):
        shown, clicks = np.bincount(source.position - 1), np.bincount(source.position - 1, source.click)
    elif isinstance(source, Aggregate):
        shown = np.bincount(source.position - 1, source.impressions)
        clicks = np.bincount(source.position - 1, source.clicks)
    else:
        return np.asarray(source, np.float64)
    return np.asarray(clicks / np.maximum(shown, 1))
