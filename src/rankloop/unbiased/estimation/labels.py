"""Estimates of relevance as the labels of a data set that any ranker can fit."""

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["labelled", "rows_of"]


def labelled(seen: Evidence, values: Floats, unseen: str) -> RankingDataset:
    """The data set with the estimates as labels, and the pages of each query as its weight.

    Labels are at least 0: in a list with negative estimates the lowest one is subtracted from all, which
    changes no difference within the list. Queries without pages are left out; documents that were never shown
    too, unless `unseen="keep"` (their estimate is 0, or that of a model of relevance).
    """
    one_of("unseen", unseen, ("drop", "keep"))
    data = seen.data
    used = seen.sessions > 0
    kept = (seen.shown if unseen == "drop" else np.ones(data.n_documents, bool)) & used[data.row_query]
    lowest = np.minimum(np.minimum.reduceat(np.where(kept, values, 0.0), data.offsets[:-1]), 0.0)
    weight = seen.sessions / seen.sessions[used].mean()
    return rows_of(data, kept, values - lowest[data.row_query], weight)


def rows_of(
    data: RankingDataset, kept: Bools, y: Floats, query_weight: Floats | None = None
) -> RankingDataset:
    """Some rows with other labels; without docids the row numbers become docids, as in a log."""
    names = np.arange(data.n_documents) if data.docid is None else data.docid
    return RankingDataset(
        data.X[kept],
        y[kept],
        data.row_qid[kept],
        docid=names[kept],
        query_text=None if data.query_text is None else data.query_text[data.row_query][kept],
        query_weight=None if query_weight is None else query_weight[data.row_query][kept],
        feature_names=data.feature_names,
    )
