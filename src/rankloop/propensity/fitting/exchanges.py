"""Pages on which two ranks may have been exchanged: sums of both arms, and the curve from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.clicks.intervention import Intervention, intervention
from rankloop.propensity.fitting.bootstrap import Grouping
from rankloop.propensity.fitting.pairs import Edges
from rankloop.propensity.fitting.sums import Sums, curve_of_sums, units_of
from rankloop.propensity.propensity import Propensity

__all__ = ["ExchangeEstimator", "interventions"]


def interventions(log: ClickLog) -> Iterator[tuple[Intervention, Ints]]:
    """Each intervention of a log, and its pages by index."""
    if log.page_intervention is None or log.original_position is None:
        raise ValueError(
            "swapped ranks are read from the columns intervention and original_position; log both, "
            "or use harvest(log), which needs neither"
        )
    for code, name in enumerate(log.page_intervention.table):
        done = intervention(name)
        if done is not None:
            yield done, np.flatnonzero(log.page_intervention.code == code)


@dataclass(frozen=True)
class ExchangeEstimator:
    """The estimator of experiments that exchange two ranks with probability 1/2; a subclass says which."""

    ranks: int
    method: ClassVar[str]
    needs_pages: ClassVar[bool] = True

    def pairs(self, done: Intervention) -> list[tuple[int, int]]:
        """The ranks that an intervention may have exchanged, the lower number first."""
        raise NotImplementedError

    def part(self, log: ClickLog, groups: Grouping, by: str = "query") -> Sums:
        """By group and pair: clicks at both ranks and pages, first as ranked and then exchanged."""
        found = [
            (low, high, pages)
            for done, pages in interventions(log)
            for low, high in self.pairs(done)
            if 1 <= low < high <= self.ranks
        ]
        used = np.zeros(log.n_pages, bool)
        for _, _, pages in found:
            used[pages] = True
        group = np.full(log.n_pages, -1)
        unit = units_of(log, by)
        group[used], count = groups(unit.code[used], unit.table, 1)
        pairs = sorted({(low, high) for low, high, _ in found})
        sums = np.zeros((count, len(pairs), 6))
        for low, high, pages in found:
            sums[:, pairs.index((low, high))] += _arms(log, low, high, pages, group, count)
        index = np.array(pairs, np.int64).reshape(-1, 2) - 1
        present = np.bincount(group[used], minlength=count) > 0
        return Sums(Edges(self.ranks, index[:, 0], index[:, 1]), sums, present, int(used.sum()))

    def curve(self, total: Sums, **options: Any) -> Propensity:
        """The curve of all pages, from the pairs that were seen in both orders."""
        if total.pages == 0:
            raise ValueError(
                f"{self.method} found no page of its experiment in the column intervention; "
                "exchange ranks on some pages and log it, or use harvest(log)"
            )
        whole = total.values.sum(axis=0)
        both = (whole[:, 2] > 0) & (whole[:, 5] > 0)
        edges = Edges(self.ranks, total.edges.low[both], total.edges.high[both])
        kept = Sums(edges, total.values[:, both], total.present, total.pages)
        return curve_of_sums(kept, "exchanged pages", counts=_balanced, method=self.method, **options)


def _arms(log: ClickLog, low: int, high: int, pages: Ints, group: Ints, groups: int) -> Floats:
    """By group: clicks at low, clicks at high and pages, as ranked and then exchanged."""
    assert log.original_position is not None  # checked by interventions()
    at_low, at_high = (_row_at(log, pages, rank) for rank in (low, high))
    shown = (at_low >= 0) & (at_high >= 0)
    at_low, at_high, pages = at_low[shown], at_high[shown], pages[shown]
    swapped = log.original_position[at_low] == high
    right = swapped | (log.original_position[at_low] == low)
    counts = np.zeros((groups, 6))
    for arm, chosen in enumerate((right & ~swapped, right & swapped)):
        values = np.stack([log.click[at_low], log.click[at_high], np.ones(len(pages), np.int8)])
        for i in range(3):
            counts[:, 3 * arm + i] = np.bincount(group[pages[chosen]], values[i, chosen], minlength=groups)
    return counts


def _row_at(log: ClickLog, pages: Ints, rank: int) -> Ints:
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


def _balanced(arms: Floats) -> Floats:
    """Clicks at low, at high, and pages, with both arms made equally large."""
    plain, moved = arms[..., 2], arms[..., 5]
    half = (plain + moved) / 2
    counts = [
        half * (arms[..., i] / np.maximum(plain, 1e-300) + arms[..., 3 + i] / np.maximum(moved, 1e-300))
        for i in (0, 1)
    ]
    return np.stack([*counts, plain + moved], axis=-1)
