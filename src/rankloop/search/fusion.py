"""Several rankings of one query as one."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CONSTANT", "reciprocal_rank", "tune_weights", "warn_about_quality", "weighted"]

CONSTANT = 60.0  # of reciprocal rank fusion: the larger, the less the first ranks stand out
TOLERANCE = 0.8  # below this share of the best list's quality, a list drags fused ranks down


def reciprocal_rank(
    ranks: Mapping[str, ArrayLike], *, weights: Mapping[str, float] | None = None, constant: float = CONSTANT
) -> NDArray[np.float64]:
    r"""Reciprocal rank fusion (Cormack, Clarke & Büttcher, 2009): the sum of weight / (constant + rank).

    Rank 0 means not in that list. It knows nothing of how good each list is: a weak one counts as much as
    a strong one unless `weights` say otherwise (`tune_weights`).

    >>> reciprocal_rank({"words": [1, 2, 0], "meaning": [2, 0, 1]}).round(4)
    array([0.0325, 0.0161, 0.0164])
    """
    total = np.zeros(len(np.asarray(next(iter(ranks.values())))))
    for name, values in ranks.items():
        rank = np.asarray(values, np.float64)
        share = 1.0 if weights is None else weights.get(name, 0.0)
        total += share * np.where(rank > 0, 1 / (constant + rank), 0.0)
    return total


def weighted(
    scores: Mapping[str, ArrayLike], weights: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """The weighted sum of scores, each list brought to 0..1 over the whole pool; nan counts as 0.

    >>> weighted({"words": [4.0, 2.0, 0.0], "meaning": [0.1, 0.9, np.nan]}, {"words": 0.5, "meaning": 0.5})
    array([0.5 , 0.75, 0.  ])
    """
    total = np.zeros(len(np.asarray(next(iter(scores.values())))))
    for name, values in scores.items():
        share = 1.0 if weights is None else weights.get(name, 0.0)
        total += share * _unit(np.asarray(values, np.float64))
    return total


def tune_weights(
    pools: Sequence[Mapping[str, ArrayLike]],
    labels: Sequence[ArrayLike],
    *,
    k: int = 10,
    steps: int = 20,
    scaled: bool = True,
) -> tuple[dict[str, float], dict[str, float]]:
    """The weights of `weighted` with the best mean NDCG@k on judged pools, and each list's own NDCG@k.

    One mapping of scores and one array of labels per query. Weights sum to 1 and are searched on a grid
    of `steps`, one list after the other, until none improves. `scaled=False` adds the scores as they are:
    with 1 / (60 + rank) these are the weights of `reciprocal_rank`.

    >>> pools = [{"words": [1.0, 0.0, 0.5], "meaning": [0.0, 1.0, 0.4]}]
    >>> weights, quality = tune_weights(pools, [[0, 1, 0]])
    >>> weights["meaning"] > weights["words"], quality["meaning"]
    (True, 1.0)
    """
    from rankloop.metrics import ndcg  # not needed to search

    if not pools or len(pools) != len(labels):
        raise ValueError(f"one array of labels per pool, got {len(labels)} for {len(pools)}")
    names = list(pools[0])
    given = [[np.asarray(pool[name], np.float64) for name in names] for pool in pools]
    lists = [np.stack([_unit(one) if scaled else one for one in pool]) for pool in given]
    units = np.concatenate(lists, axis=1)
    grades = np.concatenate([np.asarray(one, np.float32) for one in labels])
    offsets = np.concatenate(([0], np.cumsum([one.shape[1] for one in lists]))).astype(np.int64)

    def quality(shares: NDArray[np.float64]) -> float:
        values = ndcg(shares @ units, grades, offsets, k=k)
        return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")

    alone = {name: quality(np.eye(len(names))[i]) for i, name in enumerate(names)}
    if all(np.isnan(value) for value in alone.values()):
        raise ValueError(
            "no pool holds a relevant document, so no weights can be learned; judge more queries"
        )
    shares = np.eye(len(names))[int(np.nanargmax([alone[name] for name in names]))]
    best, improved = quality(shares), True
    while improved:
        improved = False
        for i in range(len(names)):
            for share in np.linspace(0, 1, steps + 1):
                rest = shares.copy()
                rest[i] = 0.0
                if rest.sum() == 0:
                    continue
                trial = rest / rest.sum() * (1 - share)
                trial[i] = share
                value = quality(trial)
                if value > best + 1e-12:
                    best, shares, improved = value, trial, True
    return {name: float(share) for name, share in zip(names, shares, strict=True)}, alone


def warn_about_quality(quality: Mapping[str, float]) -> None:
    """Say so when reciprocal rank fusion would mix good lists with weak ones."""
    best = max(quality, key=lambda name: quality[name])
    weak = [name for name in quality if quality[name] < TOLERANCE * quality[best]]
    if weak:
        told = ", ".join(f"{name} {value:.3f}" for name, value in quality.items())
        warnings.warn(
            f"reciprocal rank fusion counts {', '.join(weak)} as much as {best}, but the lists differ in "
            f"quality (NDCG: {told}); use fusion='weighted' with tuned weights",
            UserWarning,
            stacklevel=3,
        )


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(len(values))
    low, high = known.min(), known.max()
    scaled = (values - low) / (high - low) if high > low else np.where(np.isnan(values), np.nan, 1.0)
    return np.nan_to_num(scaled, nan=0.0)
