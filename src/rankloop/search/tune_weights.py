"""Weights of several result lists, tuned on judged queries."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._warn import warn

__all__ = ["tune_weights", "warn_of_weak_lists"]

WEAK = 0.8  # a list below this share of the best list's NDCG makes reciprocal rank fusion worse


def tune_weights(
    pools: Sequence[Mapping[str, ArrayLike]], labels: Sequence[ArrayLike], *, k: int = 10, grid: int = 20
) -> tuple[dict[str, float], dict[str, float]]:
    """The weights of a sum of scores with the best mean NDCG@k on judged pools, and each list's own NDCG@k.

    One mapping of scores (by list) and one array of labels per query. Weights sum to 1 and are searched by
    coordinate ascent over multiples of 1 / `grid` until none improves.

    >>> pools = [{"words": [1.0, 0.0, 0.5], "meaning": [0.0, 1.0, 0.4]}]
    >>> weights, quality = tune_weights(pools, [[0, 1, 0]])
    >>> weights["meaning"] > weights["words"], quality["meaning"]
    (True, 1.0)
    """
    from rankloop.metrics import ndcg  # not needed to search

    if not pools or len(pools) != len(labels):
        raise ValueError(f"one array of labels per pool, got {len(labels)} for {len(pools)}")
    names = list(pools[0])
    scores = np.concatenate(
        [[np.asarray(pool[name], np.float64) for name in names] for pool in pools], axis=1
    )
    grades = np.concatenate([np.asarray(one, np.float32) for one in labels])
    offsets = np.concatenate(([0], np.cumsum([len(np.asarray(one)) for one in labels]))).astype(np.int64)

    def quality(weights: Floats) -> float:
        values = ndcg(weights @ scores, grades, offsets, k=k)
        return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")

    alone = {name: quality(np.eye(len(names))[i]) for i, name in enumerate(names)}
    if all(np.isnan(value) for value in alone.values()):
        raise ValueError(
            "no pool holds a relevant document, so no weights can be learned; judge more queries"
        )
    weights = np.eye(len(names))[int(np.nanargmax([alone[name] for name in names]))]
    best, improved = quality(weights), True
    while improved:
        improved = False
        for i in range(len(names)):
            for share in np.linspace(0, 1, grid + 1):
                rest = weights.copy()
                rest[i] = 0.0
                if rest.sum() == 0:
                    continue
                trial = rest / rest.sum() * (1 - share)
                trial[i] = share
                value = quality(trial)
                if value > best + 1e-12:
                    best, weights, improved = value, trial, True
    return {name: float(weight) for name, weight in zip(names, weights, strict=True)}, alone


def warn_of_weak_lists(quality: Mapping[str, float]) -> None:
    """Reciprocal rank fusion counts a weak list as much as a good one."""
    best = max(quality, key=lambda name: quality[name])
    weak = [name for name in quality if quality[name] < WEAK * quality[best]]
    if weak:
        values = ", ".join(f"{name} {value:.3f}" for name, value in quality.items())
        warn(
            f"reciprocal rank fusion counts {', '.join(weak)} as much as {best}, but the lists differ in "
            f"quality (NDCG: {values}); use fusion='weighted' with tuned weights"
        )
