"""What the logger left out: a model of the clicks by which it chose worse than chance cannot be right."""

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["say_of_the_logger"]

CLEARLY = 2.0  # standard errors over queries
CHANCE, SURE = 0.25, 0.75  # spreads by which what was shown scores below the rest: maybe, surely selection


def say_of_the_logger(seen: Evidence, scores: Floats, left: Floats) -> float:
    r"""The share of `left` in a sum with `scores` by which the documents shown are no worse than others.

    Clicks are on documents that were shown. Who got among them in spite of its features is relevant for some
    other reason, so that among them, and only there, features seem to speak against relevance (selection
    bias): the sum that explains the clicks best then prefers what the logger put last. It shows in scores of
    held-out queries that are lower for documents shown than for the others, by which the logger were worse
    than a random order. `left`, scores that know what was left out, then get the share s with

    .. math:: (1 - s) \, \Delta(\mathrm{scores}) + s \, \Delta(\mathrm{left}) = 0

    where :math:`\Delta` is the mean over queries of shown minus others. A good logger leaves no such
    difference. One that knows nothing can, by chance, a small one: the share is 0 up to a quarter of the
    spread of the scores within queries, and whole from three quarters on.
    """
    below, above = _lead(seen, scores), _lead(seen, left)
    if len(below) < 2 or not above.mean() > 0:
        return 0.0
    if below.mean() > -CLEARLY * below.std(ddof=1) / np.sqrt(len(below)):
        return 0.0
    far = -below.mean() / max(_spread(seen, scores), 1e-300)
    whole = -below.mean() / (above.mean() - below.mean())
    return float(whole * np.clip((far - CHANCE) / (SURE - CHANCE), 0.0, 1.0))


def _lead(seen: Evidence, scores: Floats) -> Floats:
    """The mean score of the documents shown less that of the others, for each query that has both."""
    query, queries = seen.data.row_query, seen.data.n_queries
    many = np.bincount(query, seen.shown, queries)
    above = np.bincount(query, seen.shown * scores, queries) / np.maximum(many, 1)
    rest = np.bincount(query, ~seen.shown * scores, queries) / np.maximum(seen.data.lengths - many, 1)
    return np.asarray((above - rest)[_both(seen)], np.float64)


def _spread(seen: Evidence, scores: Floats) -> float:
    """The standard deviation of the scores within the queries that have documents that were not shown."""
    query, queries = seen.data.row_query, seen.data.n_queries
    centred = scores - (np.bincount(query, scores, queries) / seen.data.lengths)[query]
    return float(centred[_both(seen)[query]].std())


def _both(seen: Evidence) -> Bools:
    """The queries with documents that were shown and others that were not."""
    many = np.bincount(seen.data.row_query, seen.shown, seen.data.n_queries)
    return np.asarray((many > 0) & (many < seen.data.lengths), bool)
