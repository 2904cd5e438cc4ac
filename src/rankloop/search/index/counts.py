"""What the documents of a search have in common: how many have each value, and how numbers are spread."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bytes, Floats
from rankloop._names import one_of
from rankloop.search.bm25 import BM25
from rankloop.search.index.expand import Expander
from rankloop.search.index.match import Filters, allowed_documents, leaves_of, matching_documents
from rankloop.search.index.segment import name_of_field
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.understand import understand
from rankloop.search.retriever import Retriever
from rankloop.search.text.query import Query

__all__ = ["Bin", "Counts", "bin_ends", "count_fields", "histogram", "number_bins", "value_counts"]

HIGHEST = 0.99  # share of the documents below which bins end; the last one takes what lies above
SAMPLE = 4096  # values that this is estimated from
AT_ONCE = 1000  # values that are counted between two looks at the clock
SAME = 1e-10  # numbers nearer to each other than this share of them count as equal


class Bin(NamedTuple):
    """How many documents have a number from `low` to `high`, both included; None is open."""

    low: float
    high: float | None
    documents: int


class Counts(NamedTuple):
    """By keyword field its values with their numbers, by number field its histogram."""

    values: dict[str, dict[str, int]]
    ranges: dict[str, list[Bin]]


def count_fields(
    snapshot: Snapshot,
    query: Query,
    facets: Iterable[str],
    ranges: Iterable[str],
    *,
    k: int = 10,
    bins: int = 12,
    filters: Filters | None = None,
    match: str = "any",
    typos: str = "never",
    own: bool = False,
) -> Counts:
    """Counts over the documents that a query finds; `own` is whether a field's filter counts for itself."""
    one_of("match", match, ("any", "all"))
    one_of("typos", typos, ("never", "missing", "always"))
    searched, given = tuple(BM25().weights(snapshot)), filters or {}
    if query.typed is None:
        query = understand(Expander(query.at_most(Retriever.clauses), snapshot), searched, typos)
    expander = Expander(query.finding, snapshot)
    leaves = leaves_of(expander, searched, typos)
    known: dict[str | None, list[Bytes]] = {}

    def which(field: str) -> list[Bytes]:
        left_out = field if field in given and not own else None
        if left_out not in known:
            others = {name: wanted for name, wanted in given.items() if name != left_out}
            allowed = allowed_documents(expander, searched, others, match, typos)
            known[left_out] = matching_documents(expander, leaves, allowed) if leaves else allowed
        return known[left_out]

    keywords = [
        one_of("keyword field", name, _of_kind(snapshot, "keyword")) for name in dict.fromkeys(facets)
    ]
    numbers = [one_of("number field", name, _of_kind(snapshot, "number")) for name in dict.fromkeys(ranges)]
    return Counts(
        {name: value_counts(snapshot, name, which(name), k, query.check_time) for name in keywords},
        {name: number_bins(snapshot, name, which(name), bins) for name in numbers},
    )


def _of_kind(snapshot: Snapshot, kind: str) -> list[str]:
    return [name for name, field in snapshot.fields.items() if field.kind == kind]


def value_counts(
    snapshot: Snapshot, field: str, which: Iterable[Bytes], k: int, check: Callable[[], object]
) -> dict[str, int]:
    """How many of the documents marked per segment have each value of a field: the k most frequent.

    `check` is called now and then, and may end it.
    """
    counts: dict[str, int] = {}
    name = name_of_field("keyword", field)
    for segment, has in zip(snapshot.segments, which, strict=True):
        starts, docs = segment.arrays[f"{name}.starts"], segment.arrays[f"{name}.docs"]
        sums = np.concatenate(([0], np.cumsum(has[docs], dtype=np.int64)))
        numbers = np.diff(sums[starts])
        found = np.flatnonzero(numbers)
        if len(snapshot.segments) == 1 and len(found) > k:  # only those that are shown; values are in order
            least = np.partition(numbers, -k)[-k]
            equal = np.flatnonzero(numbers == least)
            found = np.flatnonzero(numbers > least)
            found = np.concatenate((found, equal[: k - len(found)]))
        for number, at in enumerate(found.tolist()):
            if number % AT_ONCE == 0:
                check()
            value = segment.keyword_value(field, at)
            counts[value] = counts.get(value, 0) + int(numbers[at])
    best = sorted(counts, key=lambda value: (-counts[value], value))
    return {value: counts[value] for value in best[:k]}


def number_bins(snapshot: Snapshot, field: str, which: Iterable[Bytes], bins: int) -> list[Bin]:
    """The histogram of a number field over the documents marked per segment."""
    name = name_of_field("number", field)
    parts = [
        segment.arrays[name][has.view(bool)] for segment, has in zip(snapshot.segments, which, strict=True)
    ]
    return histogram(np.concatenate([np.empty(0), *parts]), bins)


def histogram(values: Floats, bins: int) -> list[Bin]:
    """At most `bins` bins of equal width with round ends; none where all values are the same.

    Bins end at a high quantile, so that one large value does not push all others into the first bin. Whole
    numbers have whole ends that do not overlap; of others, a number that is an end is in both of its bins, as
    it is found by both ranges.

    >>> histogram(np.array([1.0, 2.0, 2.0, 9.0, 10.0, 95.0]), bins=4)
    [Bin(low=0.0, high=24.0, documents=5), Bin(low=75.0, high=99.0, documents=1)]
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    low, top = float(known.min()), float(known.max())
    whole = bool((known == np.floor(known)).all())
    some = known[:: len(known) // SAMPLE + 1]
    cut = float(np.partition(some, at := math.ceil(HIGHEST * (len(some) - 1)))[at])
    ends = bin_ends(low, cut, top, bins, whole)
    from_here = [int((known >= start).sum()) for start, _ in ends]
    found = []
    for at, (start, stop) in enumerate(ends):
        if stop is None:
            above = 0
        elif whole and at + 1 < len(ends):
            above = from_here[at + 1]
        else:
            above = int((known > stop).sum())
        if from_here[at] > above:
            found.append(Bin(start, stop, from_here[at] - above))
    return found


def bin_ends(low: float, high: float, top: float, bins: int, whole: bool) -> list[tuple[float, float | None]]:
    """The ends of at most `bins` bins of equal width, from `low` to `high`; none where all is one number.

    The last bin is open if the largest number, `top`, lies above it.

    >>> bin_ends(1.0, 95.0, 95.0, 4, whole=True)
    [(0.0, 24.0), (25.0, 49.0), (50.0, 74.0), (75.0, 99.0)]
    >>> bin_ends(0.5, 1.5, 70.0, 4, whole=False)
    [(0.5, 1.0), (1.0, 1.5), (1.5, None)]
    """
    if top - low <= SAME * max(abs(low), abs(top), SAME):
        return []
    edges = _edges(low, high if high > low else top, bins, whole).tolist()
    ends: list[tuple[float, float | None]] = [
        (start, stop - 1.0 if whole else stop) for start, stop in pairwise(edges)
    ]
    if top >= edges[-1] if whole else top > edges[-1]:
        ends[-1] = (edges[-2], None)
    return ends


def _edges(low: float, high: float, bins: int, whole: bool) -> Floats:
    """Multiples of a round step that enclose two numbers; at most `bins` steps apart."""
    size = 10.0 ** math.floor(math.log10((high - low) / bins))
    size = max(size, 1.0) if whole else size
    steps = [size * times for times in (1, 2, 2.5, 5, 10, 20, 25, 50)]
    for step in steps:
        if whole and step != round(step):
            continue
        first, last = math.floor(low / step), math.floor(high / step) + 1
        if last - first <= bins:
            break
    digits = max(0, 2 - math.floor(math.log10(step)))
    edges: Floats = np.round(np.arange(first, last + 1) * step, digits)
    return edges
