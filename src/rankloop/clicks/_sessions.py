"""The kernel of the simulator: draw, rank, intervene, read and click, one page after another."""

from typing import Any

import numpy as np

from rankloop._jit import kernel
from rankloop.clicks._plackett_luce import draw_page
from rankloop.clicks._random import stream, uniform, whole_number

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
    threshold: Any,
    row: Any,
    rank: Any,
    click: Any,
) -> None:
    """`run_sessions` for a fixed order and independent clicks: the same pages, sooner."""
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, end, start = offsets[page], offsets[page + 1], lists[query[page]]
        rows, ranks, clicks = row[begin:end], rank[begin:end], click[begin:end]
        shown, below = order[start : start + end - begin], threshold[start : start + end - begin]
        for j in range(len(rows)):
            rows[j] = shown[j]
        for j in range(len(rows)):
            ranks[j] = j + 1
        for j in range(len(rows)):
            clicks[j] = whole_number(state, np.uint64(j + 1)) < below[j]


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
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, n = offsets[page], offsets[page + 1] - offsets[page]
        start, stop = lists[query[page]], lists[query[page] + 1]
        if drawn:
            rows = row[begin : begin + n]
            state = draw_page(state, page, start, stop, order, urn, last, left, mass, rows)
        else:
            for j in range(n):
                row[begin + j] = order[start + j]
        for j in range(n):
            rank[begin + j] = j + 1
        if design > 0:
            for j in range(n):
                original[begin + j] = j + 1
            state, u = uniform(state)
            if u < rate:
                state, number = _intervene(state, design, top, begin, n, row, original)
                experiment[page] = number
        if not (history or stops):  # clicks are independent: no branch to mispredict
            for j in range(n):
                state, u = uniform(state)
                click[begin + j] = u < sight[j, 0] * attraction[row[begin + j]] + floor[j]
            continue
        reading, clicked = True, 0
        for j in range(n):
            i = begin + j
            click[i] = 0
            if not reading:
                continue
            d = row[i]
            state, u = uniform(state)
            p = sight[j, clicked if history else 0] * attraction[d] + floor[j]
            if u < p:  # given a click, u is uniform below p: the same number decides on reading on
                click[i] = 1
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
