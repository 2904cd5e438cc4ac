"""Parts of a log to learn from and to predict, for what is chosen by held-out pages."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rankloop._arrays import Bools, Ints, Ints32
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.grouping import Pairs, selected
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.pages import Pages

__all__ = ["folds"]

FOLDS = 4
IMPRESSIONS = 100_000  # that are used at most, as whole queries: their documents stay as rare as they are
SEED = 0


def folds(seen: Evidence) -> Iterator[tuple[Evidence, Evidence]]:
    """`FOLDS` times a part to learn from and the rest; parts have the documents and ranks of the whole.

    People are held out whole where the log knows them, as their pages are alike; else pages; of an
    `Aggregate` impressions.
    """
    rng = np.random.default_rng(SEED)
    if seen.counts is None:
        pages = np.flatnonzero(_few_queries(seen, rng)[seen.pages.offsets[:-1]])
        unit = np.arange(len(pages))
        if seen.pages.person is not None:
            unit = np.unique(seen.pages.person.code[pages], return_inverse=True)[1]
        fold = (rng.permutation(int(unit.max()) + 1) % FOLDS)[unit]
        for number in range(FOLDS):
            yield _of_pages(seen, pages[fold != number]), _of_pages(seen, pages[fold == number])
        return
    kept, counts = _few_queries(seen, rng), seen.counts
    pair, position = seen.names.code[kept], counts.position[kept]
    shown, clicks = counts.impressions[kept], counts.clicks[kept]
    left, clicks_left = shown, clicks
    for number in range(FOLDS):
        here = rng.binomial(left, 1.0 / (FOLDS - number))
        clicked = rng.hypergeometric(clicks_left, left - clicks_left, here)
        left, clicks_left = left - here, clicks_left - clicked
        yield (
            _of_counts(seen, pair, position, shown - here, clicks - clicked),
            _of_counts(seen, pair, position, here, clicked),
        )


def _few_queries(seen: Evidence, rng: np.random.Generator) -> Bools:
    """For each entry whether its query is among those that are used."""
    query = seen.names.query[seen.names.code]
    shown = np.bincount(query, None if seen.counts is None else seen.counts.impressions)
    order = rng.permutation(len(shown))
    used = np.empty(len(shown), bool)
    used[order] = np.cumsum(shown[order]) - shown[order] < IMPRESSIONS
    return np.asarray(used[query])


def _of_pages(seen: Evidence, chosen: Ints) -> Evidence:
    pages, names = seen.pages, seen.names
    offsets, rows = selected(pages.offsets, chosen)
    layout = None if pages.layout is None else Coded(pages.layout.table, pages.layout.code[chosen])
    part = Pages(
        offsets,
        pages.position[rows],
        pages.clicks[rows],
        data=pages.data,
        names=replace(names, code=names.code[rows]),
        layout=layout,
    )
    return Evidence(part, part.known_names, None, seen.depth)


def _of_counts(seen: Evidence, pair: Ints32, position: Ints32, shown: Ints, clicks: Ints) -> Evidence:
    kept = shown > 0
    pair, position = pair[kept], position[kept]
    names = seen.names
    counts = Aggregate(
        Coded(names.queries, names.query[pair]),
        Coded(names.documents, names.document[pair]),
        position,
        shown[kept],
        clicks[kept],
    )
    own = Pairs(names.queries, names.query, names.documents, names.document, pair)
    pages = Pages(np.arange(len(pair) + 1), position, data=seen.pages.data, names=own)
    return Evidence(pages, own, counts, seen.depth)
