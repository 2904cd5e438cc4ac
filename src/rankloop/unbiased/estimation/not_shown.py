"""Documents that were never shown: what a good logger left out is seldom relevant."""

import numpy as np

from rankloop._arrays import Bools
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["not_shown"]

EACH = 2  # documents that were never shown, at most, for each one that was


def not_shown(seen: Evidence, kept: Bools) -> Bools:
    """Some documents that were never shown, of the queries of the rows that are kept."""
    data = seen.data
    many = EACH * np.bincount(data.row_query[kept], minlength=data.n_queries)
    rows = np.flatnonzero(~seen.shown & (many > 0)[data.row_query])
    rows = np.random.default_rng(0).permutation(rows)
    query = data.row_query[rows]
    order = np.argsort(query, kind="stable")
    turn = np.arange(len(rows)) - np.searchsorted(query[order], query[order])
    found = np.zeros(data.n_documents, bool)
    found[rows[order][turn < many[query[order]]]] = True
    return found
