"""Pages on which two ranks may have been exchanged: counts of both arms, and the curve from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import ClickLog
from rankloop.propensity.fitting.bootstrap import bootstrapped, grouped
from rankloop.propensity.fitting.pairs import Edges, solve, tied
from rankloop.propensity.propensity import Propensity

__all__ = ["Exchange", "curve_of_exchanges"]


@dataclass(frozen=True, eq=False)
class Exchange:
    """Two ranks, and the pages (by index) on which a coin decided whether to exchange them."""

    low: int
    high: int
    pages: NDArray[np.int64]


def curve_of_exchanges(
    log: ClickLog,
    exchanges: Sequence[Exchange],
    ranks: int,
    method: str,
    *,
    layout: str | None,
    monotone: bool,
    resamples: int,
    seed: int,
) -> Propensity:
    used = np.zeros(log.n_pages, bool)
    for one in exchanges:
        used[one.pages] = True
    if not used.any():
        raise ValueError(
            f"{method} found no page of its experiment in the column intervention; "
            "exchange ranks on some pages and log it, or use harvest(log)"
        )
    group = np.full(log.n_pages, -1)
    group[used], groups = grouped(log.page_query.code[used], seed)
    pairs = sorted({(one.low, one.high) for one in exchanges})
    sums = np.zeros((groups, len(pairs), 6))
    for one in exchanges:
        sums[:, pairs.index((one.low, one.high))] += _arms(log, one, group, groups)
    whole = sums.sum(axis=0)
    both = (whole[:, 2] > 0) & (whole[:, 5] > 0)
    index = np.array(pairs, np.int64)[both] - 1
    sums = sums[:, both]
    edges = Edges(ranks, index[:, 0], index[:, 1])
    tied(edges, _balanced(sums.sum(axis=0)), "exchanged pages")
    curve = bootstrapped(
        sums,
        lambda totals: solve(edges, _balanced(totals)),
        resamples=resamples,
        seed=seed,
        method=method,
        layout=layout,
        pages=int(used.sum()),
    )
    return curve.monotone() if monotone else curve


def _arms(log: ClickLog, one: Exchange, group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """By group: clicks at low, clicks at high and pages, as they were and then exchanged."""
    at_low, at_high = (_row_at(log, one.pages, rank) for rank in (one.low, one.high))
    shown = (at_low >= 0) & (at_high >= 0)
    at_low, at_high, pages = at_low[shown], at_high[shown], one.pages[shown]
    if log.original_position is None:
        raise ValueError("exchanges are told by the column original_position; log it")
    swapped = log.original_position[at_low] == one.high
    right = swapped | (log.original_position[at_low] == one.low)
    counts = np.zeros((groups, 6))
    for arm, chosen in enumerate((right & ~swapped, right & swapped)):
        values = np.stack([log.click[at_low], log.click[at_high], np.ones(len(pages), np.int8)])
        for i in range(3):
            counts[:, 3 * arm + i] = np.bincount(group[pages[chosen]], values[i, chosen], minlength=groups)
    return counts


def _row_at(log: ClickLog, pages: NDArray[np.int64], rank: int) -> NDArray[np.int64]:
    """The impression at a rank of each page, -1 where there is none."""
    guess = log.offsets[:-1][pages] + rank - 1
    inside = guess < log.offsets[1:][pages]
    row = np.where(inside, guess, 0)
    if np.all(log.position[row][inside] == rank):
        return np.where(inside, row, -1)
    found = np.full(log.n_pages, -1)
    rows = np.flatnonzero(log.position == rank)
    found[log.row_page[rows]] = rows
    return found[pages]


def _balanced(arms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clicks at low, at high, and pages, with both arms made equally large."""
    plain, moved = arms[..., 2], arms[..., 5]
    half = (plain + moved) / 2
    counts = [
        half * (arms[..., i] / np.maximum(plain, 1e-300) + arms[..., 3 + i] / np.maximum(moved, 1e-300))
        for i in (0, 1)
    ]
    return np.stack([*counts, plain + moved], axis=-1)
