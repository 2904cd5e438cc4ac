"""Rows in any order, grouped into whole queries."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Array, Ints

__all__ = ["Grouping", "group_rows"]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Where each row goes: `order` is None when the rows already follow their queries."""

    qid: Array
    offsets: Ints
    order: Ints | None

    def apply(self, rows: Array) -> Array:
        return rows if self.order is None else rows[self.order]

    def new_row(self) -> Ints:
        """For each row of the input its row now."""
        n = int(self.offsets[-1])
        if self.order is None:
            return np.arange(n)
        place = np.empty(n, np.int64)
        place[self.order] = np.arange(n)
        return place


def group_rows(qid: Array) -> Grouping:
    """Group rows by query id, stably, queries in the order of their first row.

    >>> grouping = group_rows(np.array([7, 3, 7]))
    >>> grouping.qid, grouping.order
    (array([7, 3]), array([0, 2, 1]))
    """
    starts = np.concatenate(([True], qid[1:] != qid[:-1]))
    heads = np.flatnonzero(starts) if len(qid) else np.zeros(0, np.int64)
    runs = qid[heads]
    unique, first, code = np.unique(runs, return_index=True, return_inverse=True)
    if len(unique) == len(runs):
        return Grouping(runs, np.append(heads, len(qid)).astype(np.int64), None)
    by_first = np.empty(len(unique), np.int64)
    by_first[np.argsort(first)] = np.arange(len(unique))
    run_query = by_first[code]
    row_query = np.repeat(run_query, np.diff(np.append(heads, len(qid))))
    order = np.argsort(row_query, kind="stable")
    sizes = np.bincount(row_query, minlength=len(unique))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Grouping(runs[np.sort(first)], offsets, order)
