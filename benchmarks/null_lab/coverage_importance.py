"""Permutation importance: how often the interval holds the loss over all queries."""

from collections.abc import Iterator

import numpy as np

from null_lab.cell import Cell, coverage, runs
from rankloop.data import RankingDataset
from rankloop.rankers import LinearRanker, importance

__all__ = ["cells"]

QUERIES, DOCUMENTS = 4000, 8
METRICS = ("ndcg@5", "mrr")


def cells(quick: bool) -> Iterator[Cell]:
    pool = _pool()
    ranker = LinearRanker(loss="softmax").fit(pool)
    for metric in METRICS:
        whole = importance(ranker, pool, metric=metric, seed=1)
        for n in (30, 200):
            rng = np.random.default_rng(n)
            held, said = np.zeros(2, np.int64), np.zeros(2, np.int64)
            for i in range(runs(quick)):
                part = pool.select(np.sort(rng.choice(QUERIES, n, replace=False)))
                found = importance(ranker, part, metric=metric, seed=i)
                inside = (found.low <= whole.values) & (whole.values <= found.high)
                held += inside
                said += [not at and f"feature {i + 1}" in found.notes[-1] for i, at in enumerate(inside)]
            for feature, name in enumerate(("strong", "weak")):
                how = f"{metric}, {n} queries, a {name} feature"
                share = said[feature] / max(runs(quick) - held[feature], 1)
                note = f"{share:.0%} of the misses are said" if share > 0.5 else ""
                yield coverage("importance", how, int(held[feature]), runs(quick), note=note, said=share)
        if quick:
            return


def _pool() -> RankingDataset:
    """Labels that follow from two features, one of them much more than the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(QUERIES * DOCUMENTS, 2)).astype(np.float32)
    utility = X @ [1.0, 0.3] + rng.normal(size=len(X))
    labels = np.digitize(utility, [0.5, 1.5, 2.5]).astype(np.float32)
    return RankingDataset.from_groups(X, labels, np.full(QUERIES, DOCUMENTS))
