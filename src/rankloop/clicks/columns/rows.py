"""The rows of a data set that the documents of a log are."""

import numpy as np

from rankloop._arrays import Array, Ints
from rankloop._names import one_of
from rankloop.clicks.columns.grouping import Pairs
from rankloop.data import RankingDataset

__all__ = ["dataset_documents", "dataset_rows", "places"]

SHOWN = 5  # queries of the data set that an error shows
ADVICE = 'add it, or leave it out: missing="mark", on the command line --missing drop'


def dataset_documents(data: RankingDataset) -> Array:
    """The ids a log uses for the rows of a data set: its docids, or the row numbers."""
    return np.arange(data.n_documents) if data.docid is None else data.docid


def dataset_rows(data: RankingDataset, pairs: Pairs, missing: str = "raise") -> Ints:
    """For each pair its row in the data set; -1 for pairs that are not there if `missing` is "mark"."""
    queries, query, documents, document = pairs.queries, pairs.query, pairs.documents, pairs.document
    one_of("missing", missing, ("raise", "mark"))
    query_at = places(queries, data.qid)[query]
    if data.docid is None:
        row = places(documents, np.arange(data.n_documents))[document]
        right = (row >= 0) & (query_at >= 0)
        right[right] = data.row_query[row[right]] == query_at[right]
        row = np.where(right, row, -1)
    else:
        names, code = np.unique(data.docid, return_inverse=True)
        key = data.row_query * len(names) + code
        order = np.argsort(key, kind="stable")
        document_at = places(documents, names)[document]
        wanted = np.where((query_at >= 0) & (document_at >= 0), query_at * len(names) + document_at, -1)
        at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        row = np.where(key[order][at] == wanted, order[at], -1)
    if missing == "raise" and np.any(row < 0):
        lost = int(np.argmax(row < 0))
        if query_at[lost] < 0:
            known = [str(one) for one in data.qid[:SHOWN].tolist()] + ["..."] * (data.n_queries > SHOWN)
            raise ValueError(
                f"query {queries[query[lost]]} of the log is not in the data set, whose queries are "
                f"{', '.join(known)} ({int(np.sum(row < 0)):,} pairs of query and document are missing "
                f"there); {ADVICE}"
            )
        numbers = f"it has no docids, so documents are row numbers from 0 to {data.n_documents - 1}; "
        raise ValueError(
            f"document {documents[document[lost]]} of query {queries[query[lost]]} is in the log but not in "
            f"the data set ({int(np.sum(row < 0)):,} such pairs); {numbers if data.docid is None else ''}"
            + ADVICE
        )
    return row


def places(wanted: Array, ids: Array) -> Ints:
    """The index of each wanted id among `ids`, -1 where it is not there."""
    if (wanted.dtype.kind in "iu") != (ids.dtype.kind in "iu"):
        wanted, ids = wanted.astype(np.str_), ids.astype(np.str_)
    if len(ids) == 0:
        return np.full(len(wanted), -1)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
    return np.where(ids[order][at] == wanted, order[at], -1)
