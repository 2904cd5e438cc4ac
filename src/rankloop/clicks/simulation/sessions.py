"""The kernel of the simulator: draw, rank, intervene, read and click, one page after another."""

from typing import Any

import numpy as np

from rankloop._jit import kernel
from rankloop.clicks.simulation.plackett_luce import draw_page
from rankloop.clicks.simulation.race import LONGEST, race
from rankloop.clicks.simulation.random import stream, uniform, uniform_at, whole_number

__all__ = ["DESIGNS", "choose_queries", "run_fixed", "run_sessions", "run_stopping"]

DESIGNS = {"none": 0, "swap": 1, "adjacent": 2, "fairpairs": 3, "shuffle": 4}
_SALT = np.uint64(0x632BE59BD9B4E019)  # queries come from streams of their own


@kernel
def choose_queries(key: Any, first: int, cumulative: Any, out: Any) -> None:
    """A query for each page, by the inverse of the cumulative weights (or alike, where they are alike)."""
    n = len(cumulative)
    alike = np.all(np.abs(cumulative * n - np.arange(1, n + 1)) < 1e-6)
    for i in range(len(out)):
        _, u = uniform(stream(key ^ _SALT, np.uint64(first + i)))
        if alike:
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
def run_fixed(
    a: int,
    b: int,
    key: Any,
    first: int,
    query: Any,
    offsets: Any,
    lists: Any,
    order: Any,
    cuts: Any,
    row: Any,
    rank: Any,
    click: Any,
) -> None:
    """`run_sessions` for a fixed order and independent clicks: the same pages, sooner."""
    below = cuts[0]
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = offsets[page], offsets[page + 1], lists[query[page]]
        rows, ranks, clicks = row[begin:end], rank[begin:end], click[begin:end]
        shown, click_cut = order[start : start + end - begin], below[start : start + end - begin]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        for j in range(len(rows)):
            clicks[j] = whole_number(state, np.uint64(j + 1)) < click_cut[j]


@kernel
def run_stopping(
    a: int,
    b: int,
    key: Any,
    first: int,
    query: Any,
    offsets: Any,
    lists: Any,
    order: Any,
    cuts: Any,
    row: Any,
    rank: Any,
    click: Any,
) -> None:
    """The same for people who stop reading, unless it matters to them where they clicked last."""
    below, stay, skip = cuts
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = offsets[page], offsets[page + 1], lists[query[page]]
        stop = start + end - begin
        rows, ranks, clicks = row[begin:end], rank[begin:end], click[begin:end]
        shown = order[start:stop]
        click_cut, stay_cut, skip_cut = below[start:stop], stay[start:stop], skip[start:stop]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        clicks[:] = 0
        for j in range(len(rows)):  # one branch: where reading ends
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
    query: Any,
    offsets: Any,
    lists: Any,
    order: Any,
    urn: Any,
    design: int,
    rate: float,
    top: int,
    row: Any,
    rank: Any,
    click: Any,
    experiment: Any,
    original: Any,
    attraction: Any,
    keep: Any,
    sight: Any,
    floor: Any,
    after_click: Any,
    after_skip: Any,
) -> None:
    history = sight.shape[1] > 1
    stops = min(after_click.min(), after_skip.min(), keep.min()) < 1.0
    drawn = len(urn[0]) > 0
    longest = np.diff(lists).max() if drawn else 0
    last, left, mass = np.full(longest, -1), np.empty(longest, np.int64), np.empty(longest)
    handicap = urn[4]
    time, short, arrived = (
        np.empty(LONGEST, np.int64),
        np.empty(LONGEST, np.int32),
        np.empty(LONGEST, np.int32),
    )
    seen = sight[:, 0].copy()
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, n = offsets[page], offsets[page + 1] - offsets[page]
        start, stop = lists[query[page]], lists[query[page] + 1]
        rows, clicks, ranks = row[begin : begin + n], click[begin : begin + n], rank[begin : begin + n]
        if drawn and n > 0 and handicap[start] > 0.0:
            state = race(state, start, stop, handicap, time, short, arrived, rows)
        elif drawn:
            state = draw_page(state, page, start, stop, order, urn, last, left, mass, rows)
        else:
            for j in range(n):
                rows[j] = order[start + j]
        for j in range(n):
            ranks[j] = j + 1
        if design > 0:
            for j in range(n):
                original[begin + j] = j + 1
            state, u = uniform(state)
            if u < rate:
                state, number = _intervene(state, design, top, begin, n, row, original)
                experiment[page] = number
        if history:
            _read(state, rows, clicks, attraction, keep, sight, floor, after_click, after_skip)
            continue
        if not stops:  # clicks are independent: no branch to mispredict
            for j in range(n):
                p = seen[j] * attraction[rows[j]] + floor[j]
                clicks[j] = uniform_at(state, np.uint64(j + 1)) < p
            continue
        clicks[:] = 0
        for j in range(n):  # one branch: where reading ends
            u, p = uniform_at(state, np.uint64(j + 1)), seen[j] * attraction[rows[j]] + floor[j]
            clicks[j] = u < p
            # Given a click, u is uniform below p: the same number decides on reading on.
            after = p * after_click[j] * keep[rows[j]]
            if (u >= after) & ((u < p) | (u - p >= (1.0 - p) * after_skip[j])):
                break


@kernel
def _read(
    state: Any,
    rows: Any,
    clicks: Any,
    attraction: Any,
    keep: Any,
    sight: Any,
    floor: Any,
    after_click: Any,
    after_skip: Any,
) -> None:
    """A reader for whom it matters where the last click was."""
    reading, clicked = True, 0
    for j in range(len(rows)):
        clicks[j] = 0
        if not reading:
            continue
        d = rows[j]
        state, u = uniform(state)
        p = sight[j, clicked] * attraction[d] + floor[j]
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
    """Move documents as the experiment does; its number, 0 where the page is too short for it."""
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
            state, coin = uniform(state)
            if coin < 0.5:
                _exchange(row, begin + j, begin + j + 1)
                _exchange(original, begin + j, begin + j + 1)
        return state, side + 1
    last = min(top, n) - 1
    if last < 1:
        return state, 0
    number = int(u * last) + 1
    low, high = (0, number) if design == 1 else (number - 1, number)
    state, coin = uniform(state)
    if coin < 0.5:
        _exchange(row, begin + low, begin + high)
        _exchange(original, begin + low, begin + high)
    return state, number
