"""The kernels of the simulator: choose a query, rank, intervene and click, one page after another."""

from typing import Any

import numpy as np

from rankloop._jit import kernel
from rankloop.clicks.simulation.plackett_luce import draw_page
from rankloop.clicks.simulation.race import LONGEST, race
from rankloop.clicks.simulation.random import stream, uniform, uniform_at, whole_number

__all__ = ["DESIGNS", "choose_queries", "run_fixed", "run_sessions", "run_stopping"]

DESIGNS = {"none": 0, "swap": 1, "adjacent": 2, "fairpairs": 3, "shuffle": 4}
_SALT = np.uint64(0x632BE59BD9B4E019)  # queries have random streams of their own


@kernel
def choose_queries(key: Any, first: int, cumulative: Any, out: Any) -> None:
    """A query for each page: by inversion of the cumulative weights, directly where all weights are equal."""
    n = len(cumulative)
    equal = np.all(np.abs(cumulative * n - np.arange(1, n + 1)) < 1e-6)
    for i in range(len(out)):
        _, u = uniform(stream(key ^ _SALT, np.uint64(first + i)))
        if equal:
            out[i] = int(u * n)
            continue
        low, high = 0, n - 1
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        out[i] = low


@kernel
def run_fixed(a: int, b: int, key: Any, first: int, lists: Any, order: Any, cuts: Any, played: Any) -> None:
    """`run_sessions` for a fixed order and independent clicks: the same pages, faster.

    Every probability is known beforehand, as a threshold (`Stage.cuts`) that a random integer is compared
    with. The loops over one page have no branch, so that they are vectorised.
    """
    below = cuts[0]
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = played.offsets[page], played.offsets[page + 1], lists[played.query[page]]
        rows, ranks, clicks = played.row[begin:end], played.rank[begin:end], played.click[begin:end]
        shown, click_cut = order[start : start + end - begin], below[start : start + end - begin]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        for j in range(len(rows)):
            clicks[j] = whole_number(state, np.uint64(j + 1)) < click_cut[j]


@kernel
def run_stopping(
    a: int, b: int, key: Any, first: int, lists: Any, order: Any, cuts: Any, played: Any
) -> None:
    """The same for users who stop reading (but whose last click does not matter)."""
    below, stay, skip = cuts
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = played.offsets[page], played.offsets[page + 1], lists[played.query[page]]
        stop = start + end - begin
        rows, ranks, clicks = played.row[begin:end], played.rank[begin:end], played.click[begin:end]
        shown = order[start:stop]
        click_cut, stay_cut, skip_cut = below[start:stop], stay[start:stop], skip[start:stop]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        clicks[:] = 0
        for j in range(len(rows)):  # the only branch is the end of reading
            number = whole_number(state, np.uint64(j + 1))
            clicks[j] = number < click_cut[j]
            if (number >= stay_cut[j]) & ((number < click_cut[j]) | (number >= skip_cut[j])):
                break


@kernel
def run_sessions(
    a: int,
    b: int,
    key: Any,
    first: int,
    lists: Any,
    order: Any,
    urn: Any,
    design: int,
    rate: float,
    top: int,
    played: Any,
    reader: Any,
) -> None:
    """Play the pages `a` to `b` (of a run that begins with page `first`) into `played`."""
    attraction, keep, examination, floor, after_click, after_skip = reader
    history = examination.shape[1] > 1
    stops = min(after_click.min(), after_skip.min(), keep.min()) < 1.0
    seen = examination[:, 0].copy()

    # Working memory of the two ways to draw a page, allocated once for all pages.
    drawn = len(urn.logits) > 0
    handicap = urn.handicap
    longest = np.diff(lists).max() if drawn else 0
    last, left, mass = np.full(longest, -1), np.empty(longest, np.int64), np.empty(longest)
    time, short, arrived = (
        np.empty(LONGEST, np.int64),
        np.empty(LONGEST, np.int32),
        np.empty(LONGEST, np.int32),
    )

    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, n = played.offsets[page], played.offsets[page + 1] - played.offsets[page]
        start, stop = lists[played.query[page]], lists[played.query[page] + 1]
        rows, clicks = played.row[begin : begin + n], played.click[begin : begin + n]
        ranks = played.rank[begin : begin + n]

        # Rank: a Plackett-Luce draw (short lists race, long ones use alias tables), or the fixed order.
        if drawn and n > 0 and handicap[start] > 0.0:
            state = race(state, start, stop, handicap, time, short, arrived, rows)
        elif drawn:
            state = draw_page(state, page, start, stop, order, urn, last, left, mass, rows)
        else:
            for j in range(n):
                rows[j] = order[start + j]
        for j in range(n):
            ranks[j] = j + 1

        # Intervene: move documents as the experiment does, and note where they came from.
        if design > 0:
            for j in range(n):
                played.original[begin + j] = j + 1
            state, u = uniform(state)
            if u < rate:
                state, number = _intervene(state, design, top, begin, n, played.row, played.original)
                played.experiment[page] = number

        # Click. The n-th random number of a page is computed from n, so that no iteration waits for the
        # one before it.
        if history:
            _read(state, rows, clicks, reader)
        elif not stops:  # independent clicks: no branch that could be mispredicted
            for j in range(n):
                p = seen[j] * attraction[rows[j]] + floor[j]
                clicks[j] = uniform_at(state, np.uint64(j + 1)) < p
        else:
            clicks[:] = 0
            for j in range(n):  # the only branch is the end of reading
                u, p = uniform_at(state, np.uint64(j + 1)), seen[j] * attraction[rows[j]] + floor[j]
                clicks[j] = u < p
                # Given a click, u is uniform below p: the same number decides on reading on.
                after = p * after_click[j] * keep[rows[j]]
                if (u >= after) & ((u < p) | (u - p >= (1.0 - p) * after_skip[j])):
                    break


@kernel
def _read(state: Any, rows: Any, clicks: Any, reader: Any) -> None:
    """A reader whose examination depends on the rank of the last click."""
    attraction, keep, examination, floor, after_click, after_skip = reader
    reading, clicked = True, 0
    for j in range(len(rows)):
        clicks[j] = 0
        if not reading:
            continue
        d = rows[j]
        state, u = uniform(state)
        p = examination[j, clicked] * attraction[d] + floor[j]
        if u < p:
            clicks[j] = 1
            clicked = j + 1
            reading = u < p * after_click[j] * keep[d]
        else:
            reading = u - p < (1.0 - p) * after_skip[j]


@kernel
def _exchange(values: Any, i: int, j: int) -> None:
    held = values[i]
    values[i] = values[j]
    values[j] = held


@kernel
def _intervene(state: Any, design: int, top: int, begin: int, n: int, row: Any, original: Any) -> Any:
    """Move documents as the experiment does; gives its number, 0 where the page is too short for it."""
    if design == 4:
        for j in range(min(top, n) - 1, 0, -1):
            state, u = uniform(state)
            other = int(u * (j + 1))
            _exchange(row, begin + j, begin + other)
            _exchange(original, begin + j, begin + other)
        return state, 1
    state, u = uniform(state)
    if design == 3:
        side = int(u * 2)
        for j in range(side, min(top, n) - 1, 2):
            state, v = uniform(state)
            if v < 0.5:
                _exchange(row, begin + j, begin + j + 1)
                _exchange(original, begin + j, begin + j + 1)
        return state, side + 1
    last = min(top, n) - 1
    if last < 1:
        return state, 0
    number = int(u * last) + 1
    low, high = (0, number) if design == 1 else (number - 1, number)
    state, v = uniform(state)
    if v < 0.5:
        _exchange(row, begin + low, begin + high)
        _exchange(original, begin + low, begin + high)
    return state, number
