"""The curve that explains clicks on the same documents at pairs of ranks."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rankloop._arrays import Floats, Ints

__all__ = ["Edges", "edges_of", "solve", "tied"]


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of ranks (as indices, `low` before `high`) of a curve with `depth` ranks."""

    depth: int
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.low)

    @property
    def key(self) -> Ints:
        """One number per pair, by which pairs are in order."""
        return self.low << 32 | self.high

    def __or__(self, other: "Edges") -> "Edges":
        """The pairs of both, in order."""
        key = np.union1d(self.key, other.key)
        return Edges(max(self.depth, other.depth), key >> 32, key & 0xFFFFFFFF)


def edges_of(depth: int, scheme: str) -> Edges:
    """All pairs of ranks, those with the first ("pivot"), or neighbours ("chain")."""
    low, high = np.triu_indices(depth, 1)
    if scheme == "pivot":
        keep = low == 0
    elif scheme == "chain":
        keep = high == low + 1
    else:
        keep = np.ones(len(low), bool)
    return Edges(depth, low[keep].astype(np.int64), high[keep].astype(np.int64))


def solve(edges: Edges, counts: Floats) -> Floats:
    r"""log theta for each row of counts: clicks at `low`, clicks at `high`, and pages of each side, per edge.

    AllPairs (Agarwal et al., 2019): with one free relevance r per pair of ranks, the maximum of

    .. math:: \sum_{(a,b)} \sum_{k \in \{a,b\}} c_k \log \theta_k r_{ab} + (n - c_k) \log(1 - \theta_k r_{ab})

    r has a closed form given theta, so this is Fisher scoring on theta alone, on the Laplacian of the graph
    of ranks. On a tree (pivot, chain) the maximum is the product of the ratios of clicks along the path.
    """
    low, high = edges.low, edges.high
    clicks_low, clicks_high, pages = (counts[:, :, i] for i in range(3))
    first, second = np.maximum(clicks_low, 1e-9), np.maximum(clicks_high, 1e-9)
    theta = _potentials(edges, first * second / (first + second), np.log(first / second))
    used = pages > 0
    n = np.where(used, pages, 1.0)
    for _ in range(100):
        seen_low, seen_high = np.exp(theta[:, low]), np.exp(theta[:, high])
        total = clicks_low + clicks_high
        middle = n * (seen_low + seen_high) + clicks_low * seen_high + clicks_high * seen_low
        root = np.sqrt(np.maximum(middle**2 - 8 * n * seen_low * seen_high * total, 0.0))
        relevance = 2 * total / (middle + root)
        p_low = np.minimum(seen_low * relevance, 1 - 1e-9)
        p_high = np.minimum(seen_high * relevance, 1 - 1e-9)
        slope = np.where(used, clicks_low - (n - clicks_low) * p_low / (1 - p_low), 0.0)
        at_low, at_high = n * p_low / (1 - p_low), n * p_high / (1 - p_high)
        held = np.where(used, at_low * at_high / np.maximum(at_low + at_high, 1e-300), 0.0)
        step = np.clip(_potentials(edges, held, slope / np.maximum(held, 1e-300)), -1.0, 1.0)
        theta = theta + step
        if np.abs(step).max() < 1e-10:
            break
    return theta


def tied(edges: Edges, counts: Floats, what: str) -> None:
    """An error unless pairs with clicks at both ranks connect every rank to the first."""
    real = (counts[:, 0] > 0) & (counts[:, 1] > 0)
    graph = coo_array(
        (np.ones(int(real.sum())), (edges.low[real], edges.high[real])), shape=(edges.depth, edges.depth)
    )
    _, part = connected_components(graph, directed=False)
    lost = np.flatnonzero(part != part[0]) + 1
    if len(lost):
        names = ", ".join(map(str, lost[:8])) + (", ..." if len(lost) > 8 else "")
        advice = (
            f"log more, or estimate fewer ranks with depth={int(lost[0]) - 1}" if lost[0] > 2 else "log more"
        )
        raise ValueError(
            f"{what} connect no clicks at rank {names} with clicks at rank 1; {advice}; "
            "identifiability(log) says which swaps would help"
        )


def _potentials(edges: Edges, weight: Floats, difference: Floats) -> Floats:
    """Weighted least squares for x[low] - x[high] = difference on every edge, with x[0] = 0."""
    resamples, depth = len(weight), edges.depth
    laplacian = np.zeros((resamples, depth, depth))
    laplacian[:, edges.low, edges.high] = -weight
    laplacian[:, edges.high, edges.low] = -weight
    around = -laplacian.sum(axis=2)
    flow = np.zeros((resamples, depth, depth))
    flow[:, edges.low, edges.high] = weight * difference
    flow[:, edges.high, edges.low] = -weight * difference
    rank = np.arange(depth)
    laplacian[:, rank, rank] = around + 1e-12 * around.max(axis=1, keepdims=True) + 1e-300
    found = np.zeros((resamples, depth))
    if depth > 1:
        found[:, 1:] = np.linalg.solve(laplacian[:, 1:, 1:], flow.sum(axis=2)[:, 1:, None])[:, :, 0]
    return found
