"""A comparison of rankers by simulated users."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.clicks import ClickModel
from rankloop.clicks import user as user_by_name
from rankloop.data import RankingDataset
from rankloop.interleaving.duel import Duel
from rankloop.interleaving.method import Method
from rankloop.interleaving.method import method as method_by_name

__all__ = ["simulate_duel"]


def simulate_duel(
    data: RankingDataset,
    rankers: Mapping[str, Any],
    *,
    method: str | Method = "team_draft",
    user: str | ClickModel = "navigational",
    pages: int = 1000,
    k: int = 10,
    seed: int = 0,
) -> Duel:
    """Interleave several rankers for a simulated user whose clicks follow the labels of the data.

    Rankers are scores of the data set's rows, or anything with `predict`.

    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=20, n_features=10, seed=0)
    >>> good = data.y + np.random.default_rng(0).normal(size=data.n_documents)
    >>> duel = simulate_duel(data, {"good": good, "random": good[::-1]}, pages=500)
    >>> duel.verdicts()[0].winner
    'good'
    """
    if pages < 1:
        raise ValueError(f"pages must be at least 1, got {pages}")
    how = method_by_name(method, seed=seed) if isinstance(method, str) else method
    person = user_by_name(user)
    random = np.random.default_rng(seed)
    orders = [_orders(data, _scores(name, ranker, data), k) for name, ranker in rankers.items()]
    queries = random.integers(data.n_queries, size=pages)
    shown = [how.combine([order[query] for order in orders], k) for query in queries]
    rows = np.concatenate(
        [data.offsets[q] + np.array(p.documents) for q, p in zip(queries, shown, strict=True)]
    )
    offsets = np.concatenate(([0], np.cumsum([len(page) for page in shown])))
    clicked = np.asarray(person.sample(data.y[rows], offsets=offsets, seed=int(random.integers(2**62))), bool)
    clicks = [
        [page.documents[i] for i in np.flatnonzero(clicked[a:b])]
        for page, a, b in zip(shown, offsets[:-1], offsets[1:], strict=True)
    ]
    credits = np.array([how.credit(page, clicked) for page, clicked in zip(shown, clicks, strict=True)])
    return Duel(tuple(rankers), shown, clicks, credits.reshape(-1, len(rankers)))


def _scores(name: str, ranker: Any, data: RankingDataset) -> Floats:
    scores: ArrayLike = ranker.predict(data) if hasattr(ranker, "predict") else ranker
    values = np.asarray(scores, np.float64)
    if values.shape != (data.n_documents,):
        raise ValueError(
            f"{name} needs one score per document ({data.n_documents}), got shape {values.shape}"
        )
    return values


def _orders(data: RankingDataset, scores: Floats, k: int) -> list[list[int]]:
    """For each query the indices of its best `k` documents: no page can need more of one ranking."""
    order = np.lexsort((-scores, data.row_query))
    return [
        (order[a : min(b, a + k)] - a).tolist()
        for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
    ]
