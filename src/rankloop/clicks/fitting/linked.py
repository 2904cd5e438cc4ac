"""Ranks that are compared by documents which were shown at both."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rankloop._arrays import Ints
from rankloop._warn import warn
from rankloop.clicks.fitting.expect import Cells

__all__ = ["unlinked", "warn_if_apart"]


def unlinked(cells: Cells, ranks: int) -> Ints:
    """The ranks (from 1) that no chain of documents shown at several ranks links to the first."""
    shown = np.unique(cells.factor)
    documents = int(cells.pair.max()) + 1
    at = cells.pair.astype(np.int64), cells.factor.astype(np.int64) + documents
    size = documents + ranks
    graph = csr_array((np.ones(len(cells.pair), np.int8), at), shape=(size, size))
    part = connected_components(graph, directed=False)[1][documents:]
    return np.asarray(shown[part[shown] != part[shown[0]]] + 1, np.int64)


def warn_if_apart(cells: Cells, ranks: int) -> None:
    """A warning where nothing in the log tells trust in a rank from the relevance of what is shown there."""
    lost = unlinked(cells, ranks)
    if len(lost):
        names = ", ".join(map(str, lost[:8])) + (", ..." if len(lost) > 8 else "")
        warn(
            f"the log cannot identify trust: no documents link rank {names} to the first rank; the fitted "
            "slopes are the prior's; show some documents at several ranks (swap some pages)",
            RuntimeWarning,
        )
