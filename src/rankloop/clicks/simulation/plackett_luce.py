"""Pages drawn from a Plackett-Luce distribution by alias tables: time grows with the page, not the list."""

from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel
from rankloop.clicks.simulation.race import handicaps
from rankloop.clicks.simulation.random import uniform

__all__ = ["NO_URN", "Urn", "draw_page", "urn_of"]

_MOST = 0.75  # of the probability: once this much is shown, rejection takes too many draws
_FINE = 1e-6  # relative to a sum: a smaller difference has lost too many digits
_LEAST = 1e-290  # a smaller sum of probabilities has lost too many digits


class Urn(NamedTuple):
    """Alias tables (Walker, 1977; Vose, 1991) that pages are drawn from, one per list."""

    logits: Floats
    share: Floats  # the probability of each row to be first
    cut: Floats  # the part of a column that belongs to its own row
    alias: Ints  # the row that the rest belongs to
    handicap: Floats  # of lists that are short enough for `race`


NO_URN = Urn(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0))


def urn_of(logits: Floats, offsets: Ints) -> Urn:
    """The tables for one logit per row."""
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    top = np.repeat(np.maximum.reduceat(logits, offsets[full]), lengths[full])
    odds = np.exp(logits - top)
    share = odds / np.repeat(np.add.reduceat(odds, offsets[full]), lengths[full])
    cut, alias = np.empty(len(logits)), np.empty(len(logits), np.int64)
    _fill(offsets, share, cut, alias, np.empty(int(lengths.max()), np.int64))
    return Urn(logits, share, cut, alias, handicaps(logits, offsets))


@kernel
def _fill(offsets: Any, share: Any, cut: Any, alias: Any, waiting: Any) -> None:
    """Vose's method: rows with less than one column are filled up by rows with more."""
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        poor, rich = 0, stop - start  # two stacks that grow towards each other
        for d in range(start, stop):
            cut[d], alias[d] = share[d] * (stop - start), d
            if cut[d] < 1.0:
                waiting[poor] = d
                poor += 1
            else:
                rich -= 1
                waiting[rich] = d
        while poor > 0 and rich < stop - start:
            small, large = waiting[poor - 1], waiting[rich]
            poor -= 1
            alias[small] = large
            cut[large] -= 1.0 - cut[small]
            if cut[large] < 1.0:
                rich += 1
                waiting[poor] = large
                poor += 1
        for i in range(poor):  # left over by rounding errors: full columns
            cut[waiting[i]] = 1.0
        for i in range(rich, stop - start):
            cut[waiting[i]] = 1.0


@kernel
def draw_page(
    state: Any,
    mark: int,
    start: int,
    stop: int,
    order: Any,
    urn: Any,
    shown: Any,
    left: Any,
    mass: Any,
    rows: Any,
) -> Any:
    """Fill `rows` without replacement; `shown` has for each row of the list the last page that it is on.

    A row that is on the page already is rejected: given what is shown, the next row of a Plackett-Luce draw
    is any other in proportion to its share. Once most of the probability is shown, the others are searched.
    """
    logits, share, cut, alias, _ = urn
    n, have, seen = len(rows), 0, 0.0
    # Alias method: one draw takes constant time, however long the list; rejected if it is shown already.
    while have < n and seen < _MOST:
        state, u = uniform(state)
        column = u * (stop - start)
        d = start + int(column)
        if column - int(column) >= cut[d]:
            d = alias[d]
        if shown[d - start] != mark:
            shown[d - start] = mark
            rows[have] = d
            seen += share[d]
            have += 1
    if have == n:
        return state
    # What is left, best first, is searched by the running sum of its shares.
    m = 0
    for at in range(start, stop):  # best first, so that the search is short
        d = order[at]
        left[m], mass[m] = d, share[d]
        m += shown[d - start] != mark
    total, sure = 0.0, 0.0
    while have < n:
        if total <= sure:  # the running difference has lost too many digits: sum again
            total = mass[:m].sum()
            sure = total * _FINE
            if total < _LEAST:
                return _by_noise(state, logits, left[:m], mass[:m], rows[have:])
        state, u = uniform(state)
        u *= total
        i = 0
        while i < m - 1 and u >= mass[i]:
            u -= mass[i]
            i += 1
        while mass[i] == 0.0:  # rounding errors led past the last one
            i -= 1
        rows[have] = left[i]
        have += 1
        total -= mass[i]
        left[i], mass[i] = -1, 0.0
    return state


@kernel
def _by_noise(state: Any, logits: Any, left: Any, noisy: Any, rows: Any) -> Any:
    """The largest logits with Gumbel noise, for shares that underflow."""
    for i in range(len(left)):
        state, u = uniform(state)
        noisy[i] = np.inf if left[i] < 0 else np.log(-np.log(u + 1e-300)) - logits[left[i]]
    best = np.argsort(noisy)
    for j in range(len(rows)):
        rows[j] = left[best[j]]
    return state
