"""The clicks of a log, as models of readers who stop need them."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.expect import Tail, chain
from rankloop.clicks.fitting.pages import Pages

__all__ = ["Chain"]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The clicks that were followed by another one, and last clicks with documents below them.

    A click in the last row of a page has no information about reading on, and is in neither.
    """

    pages: Pages
    pair: Ints32
    last: Ints  # per page: the row of the last click, or the row before the first
    earlier: Ints  # rows of clicks with a later click
    final: Ints  # pages whose last click has documents below
    clicks: Floats  # per pair

    @staticmethod
    def of(seen: Evidence, model: str, *, stop_at_first: bool = False) -> "Chain":
        pages = seen.pages_only(model)
        rows = np.flatnonzero(pages.clicks)
        page = np.searchsorted(pages.offsets, rows, "right") - 1
        if stop_at_first:
            first = np.ones(len(rows), bool)
            first[1:] = page[1:] != page[:-1]
            rows, page = rows[first], page[first]
        last = pages.offsets[:-1] - 1
        last[page] = rows
        earlier = rows[rows != last[page]]
        clicked = last >= pages.offsets[:-1]
        final = np.flatnonzero(clicked & (last + 1 < pages.offsets[1:]))
        clicks = np.bincount(seen.names.code[rows], minlength=seen.n_pairs).astype(np.float64)
        return Chain(pages, seen.names.code, last, earlier, final, clicks)

    @property
    def final_rows(self) -> Ints:
        return self.last[self.final]

    def run(self, attraction: Floats, go_on: Floats, after_skip: float) -> Tail:
        """Forward-backward; `go_on` is the probability of reading on after each click of `final`."""
        enter = np.ones(len(self.last))
        enter[self.final] = go_on
        pages = self.pages
        return chain(pages.offsets, self.pair, pages.clicks, self.last, attraction, enter, after_skip)
