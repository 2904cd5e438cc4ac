"""The kernel of the simulator: draw, rank, intervene, read and click, one page after another."""

from typing import Any

import numpy as np

from rankloop._jit import kernel
from rankloop.clicks._random import stream, uniform

__all__ = ["DESIGNS", "choose_queries", "run_sessions"]

DESIGNS = {"none": 0, "swap": 1, "adjacent": 2, "fairpairs": 3, "shuffle": 4}
_SALT = np.uint64(0x632BE59BD9B4E019)  # queries come from streams of their own


@kernel
def choose_queries(key: Any, first: int, cumulative: Any, out: Any) -> None:
    """A query for each page, by the inverse of the cumulative weights."""
    n = len(cumulative)
    for i in range(len(out)):
        _, u = uniform(stream(key ^ _SALT, np.uint64(first + i)))
        low, high = 0, n - 1
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        out[i] = low


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
    scores: Any,
    stochastic: bool,
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
    best = np.empty(sight.shape[0])
    for page in range(a, b):
        state = stream(key, np.uint64(first + page))
        begin, n = offsets[page], offsets[page + 1] - offsets[page]
        start, stop = lists[query[page]], lists[query[page] + 1]
        if stochastic:  # Gumbel noise on scores: the n largest are a Plackett-Luce draw
            have = 0
            for d in range(start, stop):
                state, u = uniform(state)
                noisy = scores[d] - np.log(-np.log(u + 1e-300))
                if have == n and noisy <= best[n - 1]:
                    continue
                at = have if have < n else n - 1
                while at > 0 and best[at - 1] < noisy:
                    best[at] = best[at - 1]
                    row[begin + at] = row[begin + at - 1]
                    at -= 1
                best[at] = noisy
                row[begin + at] = d
                have = min(have + 1, n)
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
        reading, clicked = True, 0
        for j in range(n):
            i = begin + j
            click[i] = 0
            if not reading:
                continue
            d = row[i]
            state, u = uniform(state)
            if u < sight[j, clicked if history else 0] * attraction[d] + floor[j]:
                click[i] = 1
                clicked = j + 1
                onward = after_click[j] * keep[d]
            else:
                onward = after_skip[j]
            if onward < 1.0:
                state, u = uniform(state)
                reading = u < onward


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
