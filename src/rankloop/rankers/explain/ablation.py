"""The loss in quality when a ranker is trained without some features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import Comparison, compare
from rankloop.rankers.base.feature_names import feature_indices, numbered
from rankloop.rankers.base.ranker import Ranker

__all__ = ["ablation"]


def ablation(
    ranker: Ranker,
    train: RankingDataset,
    test: RankingDataset,
    groups: Mapping[str, Sequence[str | int]],
    metrics: Any = "ndcg@10",
    *,
    valid: RankingDataset | None = None,
    **options: Any,
) -> Comparison:
    """Train on all features and without each group, and compare on `test`: differences with p-values.

    `groups` gives the features of each group by name, by number ("1" is the first of a file) or by column
    from 0. The ranker is not changed: copies with its parameters are trained. `options` go to
    `rankloop.metrics.compare`.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> train, test = synthetic(n_queries=60, docs_per_query=10, n_features=6, seed=0).split(0.5, seed=0)
    >>> found = ablation(RankSVM(), train, test, {"first": [0, 1], "last": [4, 5]})
    >>> list(found.verdicts["ndcg@10"])
    ['without first', 'without last']
    """
    names = tuple(train.feature_names or numbered(train.n_features))
    if not groups:
        raise ValueError("groups is empty; name at least one group of features to leave out")
    kept = {"all features": np.ones(train.n_features, bool)}
    for name, features in groups.items():
        mask = np.ones(train.n_features, bool)
        mask[feature_indices(features, names)] = False
        if not mask.any() or mask.all():
            raise ValueError(f"group {name!r} holds {'every feature' if not mask.any() else 'no feature'}")
        kept[f"without {name}"] = mask
    scores = {}
    with progress("ablation", total=len(kept)) as advance:
        for name, mask in kept.items():
            copy = clone(ranker)
            copy.fit(_only(train, mask), None if valid is None else _only(valid, mask))
            scores[name] = copy.predict(_only(test, mask))
            advance(1, name)
    return compare(scores, test, metrics, **options)


def _only(data: RankingDataset, mask: Any) -> RankingDataset:
    names = data.feature_names
    left = None if names is None else [name for name, keep in zip(names, mask, strict=True) if keep]
    return data.replace(X=data.X[:, mask], feature_names=left)
