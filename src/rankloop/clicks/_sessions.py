"""The kernel of the simulator: draw, rank, intervene, read and click, one page after another."""

from typing import Any

import numpy as np

from rankloop._jit import kernel
from rankloop.clicks._plackett_luce import draw_page
from rankloop.clicks._race import LONGEST, race
from rankloop.clicks._random import stream, uniform, uniform_at, whole_number

__all__ = ["DESIGNS", "choose_queries", "run_fixed", "run_sessions"]

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
    below: Any,
    stops: bool,
    depth: int,
    row: Any,
    rank: Any,
    click: Any,
) -> None:
    """`run_sessions` for a fixed order and no memory of where the last click was: the same pages, sooner."""
    clicked, stay, skipped = below
    onward = np.empty(depth, np.int8)
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = offsets[page], offsets[page + 1], lists[query[page]]
        rows, ranks, clicks = row[begin:end], rank[begin:end], click[begin:end]
        stop = start + end - begin
        shown, first_cut = order[start:stop], clicked[start:stop]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        if not stops:
            for j in range(len(rows)):
                clicks[j] = whole_number(state, np.uint64(j + 1)) < first_cut[j]
            continue
        stay_cut, skip_cut = stay[start:stop], skipped[start:stop]
        for j in range(len(rows)):
            number = whole_number(state, np.uint64(j + 1))
            clicks[j] = number < first_cut[j]
            onward[j] = (number < stay_cut[j]) | ((number >= first_cut[j]) & (number < skip_cut[j]))
        _stop_reading(clicks, onward)


@kernel
def _stop_reading(clicks: Any, onward: Any) -> None:
    """No click below the first rank after which the reader does not read on."""
    reading = np.int8(1)
    for j in range(len(clicks)):
        clicks[j] &= reading
        reading &= onward[j]


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
    onward, seen = np.empty(sight.shape[0], np.int8), sight[:, 0].copy()
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
        for j in range(n):  # what would be clicked if it were read: no branch to mispredict
            u, p = uniform_at(state, np.uint64(j + 1)), seen[j] * attraction[rows[j]] + floor[j]
            clicks[j] = u < p
        if stops:
            for j in range(n):
                u, p = uniform_at(state, np.uint64(j + 1)), seen[j] * attraction[rows[j]] + floor[j]
                # Given a click, u is uniform below p: the same number decides on reading on.
                after = p * after_click[j] * keep[rows[j]]
                onward[j] = (u < after) | ((u >= p) & (u - p < (1.0 - p) * after_skip[j]))
            _stop_reading(clicks, onward)


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
