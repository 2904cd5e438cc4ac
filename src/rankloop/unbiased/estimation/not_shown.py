"""Documents that were never shown: what a good logger left out is seldom relevant."""

from dataclasses import replace

import numpy as np

from rankloop._arrays import Array, Bools
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["as_if_shown", "not_shown"]

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


def as_if_shown(seen: Evidence) -> Evidence:
    """The evidence as if each such document had been at the last rank of every page, without a click."""
    rows = np.flatnonzero(~seen.shown & (seen.sessions > 0)[seen.data.row_query])
    last = int(seen.position.max())
    end = seen.position == last
    examined = float(np.average(seen.alpha[end], weights=seen.impressions[end]))

    def extended(cells: Array, more: Array | float) -> Array:
        return np.concatenate((cells, np.broadcast_to(more, len(rows)).astype(cells.dtype)))

    return replace(
        seen,
        row=extended(seen.row, rows),
        position=extended(seen.position, last),
        impressions=extended(seen.impressions, seen.sessions[seen.data.row_query[rows]]),
        clicks=extended(seen.clicks, 0.0),
        alpha=extended(seen.alpha, examined),
        beta=extended(seen.beta, 0.0),
    )
