r"""The change of a metric when two ranked documents swap, for every metric in one form.

For ranks i < j the change is ``(G_i - G_j) (alpha_i - beta_i gamma_j)``. NDCG has ``alpha = gamma = D`` and
``beta = 1``; ERR comes to the same form by the running products of Burges (2010), MAP by running sums.
"""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel
from rankloop.lists import gains, ideal_dcg, list_discounts, list_sums, rank_lists, ranks
from rankloop.losses.kernels.lists import LossLists, inverse

__all__ = ["METRICS", "SwapTerms", "normalised_gains", "relevant_shares", "swap_terms"]

METRICS = ("ndcg", "dcg", "err", "map", "mrr", "precision", "arp")


class SwapTerms(NamedTuple):
    """By rank: gain, alpha, beta and gamma of every document; one factor per list."""

    gain: Floats
    alpha: Floats
    beta: Floats
    gamma: Floats
    factor: Floats


def swap_terms(
    metric: str,
    lists: LossLists,
    order: Ints,
    *,
    truncation: int | None,
    gain: str | tuple[float, ...],
    max_label: float,
    relevance_threshold: float,
) -> SwapTerms:
    """The terms of a metric for the lists in the given order."""
    labels = lists.labels[order]
    one, each = np.ones(lists.n_documents), np.ones(lists.n_lists)
    if metric in ("ndcg", "dcg"):
        discount = list_discounts(lists.offsets)
        factor = (
            inverse(ideal_dcg(lists.labels, lists.offsets, gain, truncation)) if metric == "ndcg" else each
        )
        return SwapTerms(gains(labels, gain), discount, one, discount, factor)
    if metric == "arp":
        wide, rank = labels.astype(np.float64), ranks(lists.offsets)
        return SwapTerms(wide, -rank, one, -rank, inverse(list_sums(wide, lists.offsets)))
    if metric == "err":
        stop = gains(labels, "exp2") * 2.0**-max_label
        return SwapTerms(stop, *_err_terms(stop, lists.offsets), each)
    hit = (labels >= relevance_threshold).astype(np.float64)
    if metric == "precision":
        cut = float(truncation or 1)
        within = (ranks(lists.offsets) <= cut) / cut
        return SwapTerms(hit, within, one, within, each)
    if metric == "map":
        alpha, gamma = _map_terms(hit, lists.offsets)
        return SwapTerms(hit, alpha, one, gamma, inverse(list_sums(hit, lists.offsets)))
    return SwapTerms(hit, *_mrr_terms(hit, lists.offsets), each)


@kernel
def _err_terms(stop: Floats, offsets: Ints) -> tuple[Floats, Floats, Floats]:
    alpha, beta, gamma = np.empty(stop.size), np.empty(stop.size), np.empty(stop.size)
    for q in range(offsets.size - 1):
        reach, before = 1.0, 0.0
        for k in range(offsets[q], offsets[q + 1]):
            here = reach / (k - offsets[q] + 1.0)
            gamma[k] = before + here
            before += stop[k] * here
            beta[k] = 1.0 / (1.0 - stop[k])
            alpha[k] = here + beta[k] * before
            reach *= 1.0 - stop[k]
    return alpha, beta, gamma


@kernel
def _map_terms(hit: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    alpha, gamma = np.empty(hit.size), np.empty(hit.size)
    for q in range(offsets.size - 1):
        seen, inverse_ranks = 0.0, 0.0
        for k in range(offsets[q], offsets[q + 1]):
            rank = k - offsets[q] + 1.0
            gamma[k] = (seen + hit[k]) / rank - inverse_ranks
            inverse_ranks += hit[k] / rank
            alpha[k] = (seen + 1.0) / rank - inverse_ranks
            seen += hit[k]
    return alpha, gamma


@kernel
def _mrr_terms(hit: Floats, offsets: Ints) -> tuple[Floats, Floats, Floats]:
    alpha, beta, gamma = np.zeros(hit.size), np.zeros(hit.size), np.zeros(hit.size)
    for q in range(offsets.size - 1):
        first, second = np.inf, np.inf
        for k in range(offsets[q], offsets[q + 1]):
            rank = k - offsets[q] + 1.0
            if hit[k] > 0.0:
                second = min(second, rank) if first < rank else second
                first = min(first, rank)
        for k in range(offsets[q], offsets[q + 1]):
            rank = k - offsets[q] + 1.0
            if rank <= first < np.inf:
                alpha[k] = 1.0 / rank
                beta[k] = 1.0
            gamma[k] = 1.0 / first if hit[k] > 0.0 else 1.0 / min(rank, second)
    return alpha, beta, gamma


def normalised_gains(
    lists: LossLists, gain: str | tuple[float, ...], truncation: int | None
) -> tuple[Floats, Floats]:
    """Weighted gains over maxDCG, by document; and the DCG that each adds in the best order."""
    amounts, rank = lists.weighted(gains(lists.labels, gain)), ranks(lists.offsets)
    share = amounts * lists.spread(inverse(ideal_dcg(lists.labels, lists.offsets, gain, truncation)))
    order = rank_lists(share, lists.offsets)
    best = np.empty_like(share)
    best[order] = share[order] * list_discounts(lists.offsets) * (rank <= (truncation or np.inf))
    return share, best


def relevant_shares(lists: LossLists, relevance_threshold: float) -> Floats:
    """1 / R for each of the R relevant documents of a list, 0 for the others."""
    hit = (lists.labels >= relevance_threshold).astype(np.float64)
    share: Floats = lists.spread(inverse(list_sums(hit, lists.offsets)))
    return hit * share
