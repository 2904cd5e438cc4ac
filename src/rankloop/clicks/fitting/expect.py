"""Expected counts: for each probability of a model its trials and successes, given the clicks.

EM divides successes by trials; the gradient of the log-likelihood in the logit of a probability is `successes
- trials * probability` (Fisher's identity). Trials without influence on the clicks are not counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from rankloop._arrays import Array, Floats, Ints, Ints32
from rankloop._jit import kernel, over_lists

__all__ = ["Cells", "Counts", "Tail", "chain", "factors", "mixture", "rates"]

Counts = dict[str, tuple[Array, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Impressions and clicks of each (pair, factor): a factor is a rank, or whatever determines the bias."""

    pair: Ints32
    factor: Ints32
    impressions: Floats
    clicks: Floats

    @staticmethod
    def counted(pair: Ints32, factor: Ints32, click: NDArray[np.int8], n_factors: int) -> "Cells":
        n_pairs = int(pair.max()) + 1 if len(pair) else 0
        key = pair.astype(np.int64) * n_factors + factor
        if n_pairs * n_factors <= max(4 * len(pair), 1 << 20):
            shown = np.bincount(key, minlength=n_pairs * n_factors)
            clicked = np.bincount(key[click == 1], minlength=n_pairs * n_factors)
            at = np.flatnonzero(shown)
            shown, clicked = shown[at], clicked[at]
        else:
            at, place = np.unique(key, return_inverse=True)
            shown = np.bincount(place, minlength=len(at))
            clicked = np.bincount(place[click == 1], minlength=len(at))
        one, other = np.divmod(at, max(n_factors, 1))
        return Cells(
            one.astype(np.int32), other.astype(np.int32), shown.astype(np.float64), clicked.astype(np.float64)
        )

    def relative_rates(self, n_factors: int, anchor: int) -> Floats:
        """The click rate of each factor over that of `anchor`, at most 1: examination if all were alike.

        One impression with the rate of `anchor` is added, so that rare factors are near it.
        """
        clicks = np.bincount(self.factor, self.clicks, n_factors)
        shown = np.bincount(self.factor, self.impressions, n_factors)
        first = (clicks[anchor] + 0.5) / (shown[anchor] + 1)
        rate = (clicks + first) / (shown + 1) / first
        rate[anchor] = 1.0
        return np.asarray(np.clip(rate, 1e-3, 1.0))


def factors(cells: Cells, attraction: Floats, examination: Floats) -> tuple[float, Counts]:
    """A clicked document is examined and attractive: P = examination[factor] * attraction[pair]."""
    seen_pair, seen = np.zeros(len(attraction)), np.zeros(len(examination))
    value = _factors(
        cells.pair, cells.factor, cells.impressions, cells.clicks, attraction, examination, seen_pair, seen
    )
    clicks = np.bincount(cells.pair, cells.clicks, len(attraction))
    shown = np.bincount(cells.factor, cells.impressions, len(examination))
    return value, {"attraction": (clicks, seen_pair), "examination": (seen, shown)}


def mixture(cells: Cells, attraction: Floats, relevant: Floats, other: Floats) -> tuple[float, Counts]:
    """A relevant document is clicked with `relevant[factor]`, another one with `other[factor]`."""
    is_relevant = np.zeros(len(attraction))
    sums = np.zeros((4, len(relevant)))
    value = _mixture(
        cells.pair,
        cells.factor,
        cells.impressions,
        cells.clicks,
        attraction,
        relevant,
        other,
        is_relevant,
        sums,
    )
    shown = np.bincount(cells.pair, cells.impressions, len(attraction))
    counts = {"attraction": (is_relevant, shown), "relevant": (sums[0], sums[1]), "other": (sums[2], sums[3])}
    return value, counts


def rates(name: str, cells: Cells, entry: Array, size: int) -> Callable[[Any], tuple[float, Counts]]:
    """Plain click rates: the expected counts of `values[name]`, with one entry of it for each cell."""
    clicks = np.bincount(entry, cells.clicks, size)
    shown = np.bincount(entry, cells.impressions, size)

    def expect(values: Any) -> tuple[float, Counts]:
        p = values[name]
        return float(np.sum(xlogy(clicks, p) + xlog1py(shown - clicks, -p))), {name: (clicks, shown)}

    return expect


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Expected counts of readers who stop, given the clicks."""

    value: float  # log-likelihood of attractions, skips and tails (not of going on after a click)
    read: Floats  # per pair: expected number of times it was read
    onward: Floats  # per page: P(read on after the last click | clicks)
    skips: float  # expected number of decisions after a skip
    skips_onward: float  # and of those to read on


def chain(
    offsets: Ints,
    pair: Ints32,
    click: NDArray[np.int8],
    last: Ints,
    attraction: Floats,
    enter: Floats,
    after_skip: float,
) -> Tail:
    """Forward-backward for readers who go down and stop for good.

    `last` is the row of the last click of each page (before its first row: none), `enter` the
    probability of reading on after it.
    """
    with np.errstate(divide="ignore"):
        log_click, log_skip = np.log(attraction), np.log1p(-attraction)
    onward = np.zeros(len(last))
    longest = int(np.diff(offsets).max()) if len(last) else 0
    parts: dict[int, tuple[Floats, Floats]] = {}

    def work(a: int, b: int) -> None:
        read, sums = np.zeros(len(attraction)), np.zeros(3)
        _chain(
            a, b, offsets, pair, click, last, attraction, log_click, log_skip, enter, after_skip, longest,
            read, onward, sums,
        )  # fmt: skip
        parts[a] = read, sums

    over_lists(work, offsets)
    in_order = [parts[a] for a in sorted(parts)]  # so that sums do not depend on the order of threads
    read = np.sum([part for part, _ in in_order], axis=0)
    sums = np.sum([part for _, part in in_order], axis=0)
    return Tail(float(sums[0]), read, onward, float(sums[1]), float(sums[2]))


@kernel
def _factors(
    pair: Any,
    factor: Any,
    shown: Any,
    clicks: Any,
    attraction: Any,
    examination: Any,
    seen_pair: Any,
    seen: Any,
) -> float:
    value = 0.0
    for i in range(len(pair)):
        a, e = attraction[pair[i]], examination[factor[i]]
        p, skipped = a * e, shown[i] - clicks[i]
        if clicks[i] > 0.0:
            value += clicks[i] * np.log(p)
        examined = clicks[i]
        if skipped > 0.0:
            value += skipped * np.log1p(-p)
            examined += skipped * e * (1.0 - a) / (1.0 - p)
        seen_pair[pair[i]] += examined
        seen[factor[i]] += examined
    return value


@kernel
def _mixture(
    pair: Any,
    factor: Any,
    shown: Any,
    clicks: Any,
    attraction: Any,
    relevant: Any,
    other: Any,
    is_relevant: Any,
    sums: Any,
) -> float:
    value = 0.0
    for i in range(len(pair)):
        a, k = attraction[pair[i]], factor[i]
        p = a * relevant[k] + (1.0 - a) * other[k]
        skipped = shown[i] - clicks[i]
        with_click, without = 0.0, 0.0
        if clicks[i] > 0.0:
            value += clicks[i] * np.log(p)
            with_click = clicks[i] * a * relevant[k] / p
        if skipped > 0.0:
            value += skipped * np.log1p(-p)
            without = skipped * a * (1.0 - relevant[k]) / (1.0 - p)
        is_relevant[pair[i]] += with_click + without
        sums[0, k] += with_click
        sums[1, k] += with_click + without
        sums[2, k] += clicks[i] - with_click
        sums[3, k] += shown[i] - with_click - without
    return value


@kernel
def _chain(
    first: int,
    end: int,
    offsets: Any,
    pair: Any,
    click: Any,
    last: Any,
    attraction: Any,
    log_click: Any,
    log_skip: Any,
    enter: Any,
    after_skip: float,
    longest: int,
    read: Any,
    onward: Any,
    sums: Any,
) -> None:
    """Add the pages `first` to `end` to `read`, `onward` and `sums` (log-likelihood, skips, skips onward)."""
    go_on = np.empty(longest + 1)
    log_after = np.log(after_skip)
    for page in range(first, end):
        start, stop, at = offsets[page], offsets[page + 1], last[page]

        # Down to the last click everything was read. Logarithms are examined up: there is one per document.
        for i in range(start, at + 1):
            read[pair[i]] += 1.0
            if click[i] == 1:
                sums[0] += log_click[pair[i]]
            else:
                sums[0] += log_skip[pair[i]] + log_after
                sums[1] += 1.0
                sums[2] += 1.0
        if at + 1 >= stop:
            continue

        # Backward below the last click: P(no click from here on | read), and for each row P(read the next |
        # read this one, no click below). Readers who never tire need sums of logarithms only.
        none, log_none = 1.0, 0.0
        for i in range(stop - 1, at, -1):
            if after_skip == 1.0:
                go_on[i - start] = 1.0
                log_none += log_skip[pair[i]]
            else:
                further = after_skip * none if i < stop - 1 else 1.0
                rest = 1.0 - after_skip if i < stop - 1 else 0.0
                go_on[i - start] = further / (further + rest)
                none = (1.0 - attraction[pair[i]]) * (further + rest)
        if after_skip == 1.0:
            none = np.exp(log_none)
        else:
            log_none = np.log(none)

        # Whether reading went on after the last click, given that there was none below.
        entered = enter[page]
        if entered == 1.0:
            reading = 1.0
            sums[0] += log_none
        else:
            total = entered * none + 1.0 - entered
            reading = entered * none / total
            sums[0] += np.log(total)
        onward[page] = reading

        # Forward: the expected number of times each row was read, and of decisions after a skip.
        for i in range(at + 1, stop):
            read[pair[i]] += reading
            if i < stop - 1:
                sums[1] += reading
                reading *= go_on[i - start]
                sums[2] += reading
