"""The number of pages that an experiment needs for a given precision."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog, Swap

__all__ = ["PlannedSwap", "SwapPlan", "click_rates", "plan_swaps", "swap_variance"]

DESIGNS = ("swap", "adjacent", "fairpairs", "shuffle")
REACH = 1.959963984540054  # half of a 95 % interval, in standard errors


@dataclass(frozen=True, slots=True)
class PlannedSwap:
    """Two ranks to exchange with probability 1/2, and the number of pages to do so on."""

    low: int
    high: int
    sessions: int


@dataclass(frozen=True, slots=True, repr=False)
class SwapPlan:
    """The pages that an experiment needs, and how they divide into `swaps` where the design has a choice."""

    design: str
    precision: float
    ranks: int
    sessions: int
    swaps: tuple[PlannedSwap, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        lines = [
            f"{self.design}: {self.sessions:,} pages for every rank to {self.ranks} within "
            f"{self.precision:.0%} (95 % interval)"
        ]
        lines += [f"  {Swap(one.low, one.high)}: {one.sessions:,} pages" for one in self.swaps]
        return "\n".join(lines)


def plan_swaps(
    source: ClickLog | Aggregate | ArrayLike,
    *,
    precision: float = 0.1,
    design: str = "swap",
    depth: int | None = None,
) -> SwapPlan:
    r"""The pages after which the 95 % interval of every theta_k is within `precision` of it.

    With n pages of a swap of ranks a and b, the variance of log theta_b / theta_a is

    .. math:: \frac{1}{n} \left( \frac{1 - p_a}{p_a} + \frac{1 - p_b}{p_b} \right)

    with click rates p, which are given or counted in a log. Along a chain ("adjacent", "fairpairs") variances
    add up, so its pages are divided in proportion to the square roots of these terms. Swaps move better
    documents down than a log shows there, so the plan has rather too many pages than too few.

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
        needed = np.ceil([swap_variance(rates[0], rate) / wanted for rate in rates[1:]]).astype(int)
        if design == "shuffle":
            return SwapPlan(design, precision, len(rates), int(needed.max()), ())
        swaps = tuple(PlannedSwap(1, rank, int(n)) for rank, n in enumerate(needed, 2))
        return SwapPlan(design, precision, len(rates), int(needed.sum()), swaps)
    root = np.sqrt([swap_variance(a, b) for a, b in pairwise(rates)])
    needed = np.ceil(root * root.sum() / wanted).astype(int)
    if design == "adjacent":
        swaps = tuple(PlannedSwap(rank, rank + 1, int(n)) for rank, n in enumerate(needed, 1))
        return SwapPlan(design, precision, len(rates), int(needed.sum()), swaps)
    # a page exchanges every other pair, so each pair takes part in half of the pages
    pages = int(np.ceil(2 * np.sum(root**2) / wanted))
    return SwapPlan(design, precision, len(rates), pages, ())


def swap_variance(first: float, second: float) -> float:
    """The variance of the logarithm of the ratio after one page of a swap."""
    return (1 - first) / first + (1 - second) / second


def click_rates(source: ClickLog | Aggregate | ArrayLike | Sequence[float]) -> Floats:
    """Clicks over impressions at each rank; numbers are returned as they are."""
    if isinstance(source, ClickLog):
        shown, clicks = np.bincount(source.position - 1), np.bincount(source.position - 1, source.click)
    elif isinstance(source, Aggregate):
        shown = np.bincount(source.position - 1, source.impressions)
        clicks = np.bincount(source.position - 1, source.clicks)
    else:
        return np.asarray(source, np.float64)
    return np.asarray(clicks / np.maximum(shown, 1))
