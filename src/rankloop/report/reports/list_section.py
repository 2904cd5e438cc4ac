"""The section about one list of a ranker: its NDCG and its lambdas, as pictures."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.report.figure import Figure
from rankloop.report.lambdas_picture import lambdas_picture
from rankloop.report.ndcg_picture import ndcg_picture

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["list_section"]

_K = 10
_WORST = 5  # queries with the lowest NDCG that are named


def list_section(ranker: Any, lists: "RankingDataset", query: Any = None) -> tuple[str | Figure, ...]:
    """A sentence and two pictures of a query's list; by default of one with about the mean NDCG."""
    from rankloop.metrics import ndcg

    scores = np.asarray(ranker.predict(lists), np.float64)
    values = ndcg(scores, lists.y, lists.offsets, k=_K)
    if not np.isfinite(values).any():
        return ("No list has a relevant document to draw.",)
    if query is None:
        index = int(np.nanargmin(np.abs(values - np.nanmean(values))))
    else:
        found = np.flatnonzero(lists.qid.astype(str) == str(query))
        if not len(found):
            raise ValueError(f"there is no query {query!r} in the data")
        index = int(found[0])
    a, b = lists.offsets[index], lists.offsets[index + 1]
    given = None if lists.docid is None else [str(one) for one in lists.docid[a:b]]
    names = [f"document {number}" for number in range(1, b - a + 1)] if given is None else given
    worst = [i for i in np.argsort(values, kind="stable")[:_WORST] if np.isfinite(values[i])]
    summary = (
        f"The list of query {lists.qid[index]}: NDCG@{_K} is {values[index]:.4f}, and "
        f"{np.nanmean(values):.4f} on average over {np.isfinite(values).sum():,} lists. Lowest: "
        f"{', '.join(f'query {lists.qid[i]} ({values[i]:.4f})' for i in worst)}."
    )
    found_lambdas, loss = _lambdas(ranker, scores[a:b], lists.y[a:b])
    return (
        summary,
        ndcg_picture(scores[a:b], lists.y[a:b], k=_K, documents=names),
        lambdas_picture(
            found_lambdas,
            documents=names,
            note=f"Documents as ranked; arrows are the lambdas of the loss {loss} at these scores.",
        ),
    )


def _lambdas(ranker: Any, scores: Any, labels: Any) -> tuple[Any, str]:
    """The lambdas of the ranker's loss, or of LambdaRank where that loss is not list-wise."""
    from rankloop.rankers import lambdas

    own = getattr(ranker, "loss", "lambdarank")
    try:
        return lambdas(own, scores, labels), str(getattr(own, "name", own))
    except (ValueError, TypeError):
        return lambdas("lambdarank", scores, labels), "lambdarank"
