"""PageRank: how much a link graph points at each document."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints

__all__ = ["pagerank"]


def pagerank(
    source: ArrayLike,
    target: ArrayLike,
    n: int,
    *,
    damping: float = 0.85,
    weight: ArrayLike | None = None,
    personal: ArrayLike | Mapping[int, float] | None = None,
    tolerance: float = 1e-12,
    iterations: int = 1000,
) -> Floats:
    r"""PageRank of the n nodes of a graph of links source -> target (Page & Brin, 1998); it sums to 1.

    .. math:: r = d \, (P^T r + p \sum_{\text{dangling}} r) + (1 - d) \, p

    p is the distribution of jumps (`personal`, uniform by default); a node without links always jumps. Links
    may repeat and have a `weight`.

    >>> pagerank([0, 1, 2], [1, 2, 0], 3).round(4)
    array([0.3333, 0.3333, 0.3333])
    >>> pagerank([0], [1], 2).round(4)
    array([0.3509, 0.6491])
    """
    from scipy import sparse  # it takes a fifth of a second to load, and searching does not need it

    tails, heads = _nodes(source, n, "source"), _nodes(target, n, "target")
    if len(tails) != len(heads):
        raise ValueError(f"one target per source, got {len(tails)} sources and {len(heads)} targets")
    if not 0 <= damping < 1:
        raise ValueError(f"damping is at least 0 and below 1, got {damping}")
    if n < 1:
        raise ValueError(f"a graph has at least 1 node, got {n}")
    value = np.ones(len(tails)) if weight is None else np.asarray(weight, np.float64).reshape(-1)
    if len(value) != len(tails) or not np.all(np.isfinite(value) & (value >= 0)):
        raise ValueError("weight needs one finite number >= 0 per link")
    out = np.bincount(tails, value, n)
    dangling = out == 0
    links = sparse.csr_array((value / np.where(dangling, 1, out)[tails], (heads, tails)), shape=(n, n))
    jump = _distribution(personal, n)
    rank = jump.copy()
    for _ in range(iterations):
        after = damping * (links @ rank + jump * rank[dangling].sum()) + (1 - damping) * jump
        change = float(np.abs(after - rank).sum())
        rank = after
        if change < tolerance:
            break
    return np.asarray(rank / rank.sum())


def _nodes(values: ArrayLike, n: int, name: str) -> Ints:
    nodes = np.asarray(values).reshape(-1)
    if len(nodes) == 0:
        return np.empty(0, np.int64)
    if not np.issubdtype(nodes.dtype, np.integer) or nodes.min() < 0 or nodes.max() >= n:
        raise ValueError(f"{name} holds node numbers from 0 to {n - 1}, got {nodes.min()} to {nodes.max()}")
    return nodes.astype(np.int64)


def _distribution(personal: ArrayLike | Mapping[int, float] | None, n: int) -> Floats:
    if personal is None:
        return np.full(n, 1 / n)
    if isinstance(personal, Mapping):
        jump = np.zeros(n)
        jump[_nodes(list(personal), n, "personal")] = list(personal.values())
    else:
        jump = np.asarray(personal, np.float64).reshape(-1)
    if len(jump) != n or not np.all(np.isfinite(jump) & (jump >= 0)) or jump.sum() == 0:
        raise ValueError(f"personal needs {n} finite numbers >= 0 (one per node), not all 0")
    return np.asarray(jump / jump.sum())
