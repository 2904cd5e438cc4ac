"""What all click models have in common: one reader who goes down the page.

At rank k, still reading and with the last click at rank l (0: none yet), the reader clicks document d with
probability `examination[k, l] * attraction[d] + floor[k]`, then reads on with probability `after_click[k] *
keep[d]` or `after_skip[k]`. Every click model is a choice of these numbers, so one sampler and one exact
recursion serve all.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Floats
from rankloop._jit import kernel, over_lists
from rankloop.clicks.fitting.pages import Pages
from rankloop.clicks.simulation.random import stream, uniform

__all__ = ["Behaviour", "conditional", "draw", "marginal"]


class Behaviour(NamedTuple):
    """The numbers of one model on some pages, in the form that the kernels take."""

    attraction: Floats  # per impression (or per row of a data set)
    keep: Floats
    examination: Floats  # ranks × (1 or ranks + 1)
    floor: Floats  # per rank
    after_click: Floats
    after_skip: Floats

    @staticmethod
    def plain(
        attraction: Floats,
        depth: int,
        *,
        keep: Floats | None = None,
        examination: Floats | None = None,
        floor: Floats | None = None,
        after_click: float | Floats = 1.0,
        after_skip: float = 1.0,
    ) -> "Behaviour":
        """A reader who reads everything and clicks what attracts, but for what is given."""
        matrix = np.ones((depth, 1)) if examination is None else examination.reshape(depth, -1)
        return Behaviour(
            np.ascontiguousarray(attraction, np.float64),
            np.ones(len(attraction)) if keep is None else np.ascontiguousarray(keep, np.float64),
            np.array(matrix, np.float64, order="C"),
            np.zeros(depth) if floor is None else np.array(floor, np.float64),
            np.array(np.broadcast_to(after_click, depth), np.float64),
            np.full(depth, float(after_skip)),
        )

    @property
    def dependent(self) -> bool:
        """Whether a click changes what happens below it."""
        stay = min(self.after_click.min(), self.after_skip.min(), self.keep.min())
        return bool(self.examination.shape[1] > 1 or stay < 1)


def conditional(pages: Pages, behaviour: Behaviour) -> Floats:
    """P(click | the clicks above it) of each impression."""
    out = np.empty(len(pages))
    clicks = pages.clicks

    def work(a: int, b: int) -> None:
        _conditional(a, b, pages.offsets, pages.position, clicks, behaviour, out)

    over_lists(work, pages.offsets)
    return out


def marginal(pages: Pages, behaviour: Behaviour) -> Floats:
    """P(click) of each impression, over all that may be clicked above it."""
    out = np.empty(len(pages))
    over_lists(lambda a, b: _marginal(a, b, pages.offsets, pages.position, behaviour, out), pages.offsets)
    return out


def draw(pages: Pages, behaviour: Behaviour, seed: int) -> NDArray[np.int8]:
    """Clicks; page i has its own stream of random numbers, so the number of threads does not matter."""
    out = np.empty(len(pages), np.int8)
    key = np.uint64(seed)
    over_lists(lambda a, b: _draw(a, b, key, pages.offsets, pages.position, behaviour, out), pages.offsets)
    return out


@kernel
def _conditional(
    first: int, last: int, offsets: Any, position: Any, click: Any, reader: Any, out: Any
) -> None:
    """Bayes' rule down the page: P(still reading) after each click or skip."""
    attraction, keep, examination, floor, after_click, after_skip = reader
    history = examination.shape[1] > 1
    for page in range(first, last):
        reading = 1.0
        clicked = 0
        for i in range(offsets[page], offsets[page + 1]):
            k = position[i] - 1
            p = examination[k, clicked if history else 0] * attraction[i] + floor[k]
            out[i] = reading * p
            if click[i] == 1:
                clicked = k + 1
                reading = after_click[k] * keep[i]
            else:
                rest = 1.0 - reading * p
                reading = after_skip[k] * reading * (1.0 - p) / rest if rest > 0.0 else 0.0


@kernel
def _marginal(first: int, last: int, offsets: Any, position: Any, reader: Any, out: Any) -> None:
    """The distribution over (reading, rank of the last click), moved down the page."""
    attraction, keep, examination, floor, after_click, after_skip = reader
    history = examination.shape[1] > 1
    state = np.zeros(examination.shape[0] + 1)
    for page in range(first, last):
        state[:] = 0.0
        state[0] = 1.0
        for i in range(offsets[page], offsets[page + 1]):
            k = position[i] - 1
            clicks = 0.0
            for j in range(k + 1 if history else 1):
                p = examination[k, j] * attraction[i] + floor[k]
                clicks += state[j] * p
                state[j] *= (1.0 - p) * after_skip[k]
            out[i] = clicks
            state[k + 1 if history else 0] += clicks * after_click[k] * keep[i]


@kernel
def _draw(first: int, last: int, key: Any, offsets: Any, position: Any, reader: Any, out: Any) -> None:
    """A click where u is below its probability, then the decision to read on."""
    attraction, keep, examination, floor, after_click, after_skip = reader
    history = examination.shape[1] > 1
    for page in range(first, last):
        state = stream(key, np.uint64(page))
        reading = True
        clicked = 0
        for i in range(offsets[page], offsets[page + 1]):
            out[i] = 0
            if not reading:
                continue
            k = position[i] - 1
            state, u = uniform(state)
            if u < examination[k, clicked if history else 0] * attraction[i] + floor[k]:
                out[i] = 1
                clicked = k + 1
                onward = after_click[k] * keep[i]
            else:
                onward = after_skip[k]
            if onward < 1.0:
                state, u = uniform(state)
                reading = u < onward
