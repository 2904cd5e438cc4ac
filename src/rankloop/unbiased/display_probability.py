"""The probability that a stochastic logging policy shows each document at each rank."""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats

__all__ = ["display_probability"]


def display_probability(
    scores: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int,
    temperature: float = 1.0,
    samples: int = 1000,
    seed: int = 0,
) -> Floats:
    r""":math:`\rho(d \mid q, k)` of a Plackett-Luce policy: one row per document, one column per rank.

    Rank 1 is exact. Below it, each sampled ranking counts with the exact probability of every document to
    come next (Oosterhuis & de Rijke, 2020), which has less variance than counting which document came next.

    >>> display_probability([1.0, 1.0], [0, 2], k=2, samples=10_000).round(1)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if temperature <= 0 or k < 1 or samples < 1:
        raise ValueError(
            f"temperature is above 0, k and samples at least 1, got {temperature}, {k}, {samples}"
        )
    logits = np.asarray(scores, np.float64) / temperature
    bounds = np.asarray(offsets, np.int64)
    probability = np.zeros((len(logits), k))
    rng = np.random.default_rng(seed)
    for a, b in pairwise(bounds.tolist()):
        depth = min(k, b - a)
        if depth == 0:
            continue
        odds = np.exp(logits[a:b] - logits[a:b].max())
        first = odds / odds.sum()
        order = np.argsort(-(logits[a:b] + rng.gumbel(size=(samples, b - a))), axis=1)[:, :depth]
        left = np.tile(odds, (samples, 1))
        probability[a:b, 0] = first
        for rank in range(1, depth):
            np.put_along_axis(left, order[:, rank - 1 : rank], 0.0, axis=1)
            total = left.sum(axis=1, keepdims=True)
            shares = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
            probability[a:b, rank] = shares.mean(axis=0)
    return probability
