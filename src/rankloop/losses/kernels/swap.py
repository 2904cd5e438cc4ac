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
from rankloop.losses.kernels.tied_ranks import (
    EVERY,
    TiedRanks,
    any_tie,
    tied_means,
    tied_ranks,
    untied_ranks,
    within_ties,
)

__all__ = ["METRICS", "SwapTerms", "normalised_gains", "relevant_shares", "swap_order", "swap_terms"]

METRICS = ("ndcg", "dcg", "err", "map", "mrr", "precision", "arp")

_NONE = np.zeros(0)


class SwapTerms(NamedTuple):
    """By rank: gain, alpha, beta and gamma of every document, and its change with another of its tie.

    One factor per list; ties of scores are those of `ranks`.
    """

    gain: Floats
    alpha: Floats
    beta: Floats
    gamma: Floats
    factor: Floats
    ranks: TiedRanks
    within: Floats


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
    """The terms of a metric for the lists in the given order (`swap_order`)."""
    labels, offsets = lists.labels[order], lists.offsets
    if metric in ("ndcg", "dcg"):
        best = ideal_dcg(lists.labels, offsets, gain, truncation) if metric == "ndcg" else np.ones(0)
        factor = inverse(best) if metric == "ndcg" else np.ones(lists.n_lists)
        return _by_place(lists, order, gains(labels, gain), list_discounts(offsets), factor, truncation)
    if metric == "arp":
        wide = labels.astype(np.float64)
        return _by_place(
            lists, order, wide, -ranks(offsets), inverse(list_sums(wide, offsets)), truncation
        )  # fmt: skip
    hit = (labels >= relevance_threshold).astype(np.float64)
    if metric == "precision":
        cut = float(truncation or 1)
        within = (ranks(offsets) <= cut) / cut
        return _by_place(lists, order, hit, within, np.ones(lists.n_lists), truncation)
    # The change depends on all that is between: documents of one label and score take their mean place.
    made, factor = gains(labels, "exp2") * 2.0**-max_label if metric == "err" else hit, np.ones(lists.n_lists)
    if metric == "err":
        terms = _err_terms(made, offsets)
    elif metric == "map":
        alpha, gamma = _map_terms(hit, offsets)
        terms, factor = (alpha, np.ones(len(hit)), gamma), inverse(list_sums(hit, offsets))
    else:
        terms = _mrr_terms(hit, offsets)
    tied = tied_ranks(lists.scores[order], offsets, truncation, labels.astype(np.float64))
    top = EVERY if truncation is None else truncation
    return SwapTerms(
        made,
        tied_means(terms[0], tied, offsets, top),
        tied_means(terms[1], tied, offsets, top),
        tied_means(terms[2], tied, offsets, EVERY),
        factor,
        tied,
        np.zeros(lists.n_documents),
    )


def swap_order(metric: str, lists: LossLists) -> Ints:
    """The rows by falling score; for err, map and mrr the lowest label of a tie comes first.

    What those three change by a swap depends on the documents between the two, so that ties need an order:
    the worst one, as `ties="worst"` has it in metrics.
    """
    if metric not in ("err", "map", "mrr"):
        return rank_lists(lists.scores, lists.offsets)
    lowest = rank_lists(-lists.labels.astype(np.float64), lists.offsets)
    return lowest[rank_lists(lists.scores[lowest], lists.offsets)]


def _by_place(
    lists: LossLists, order: Ints, gain: Floats, by_rank: Floats, factor: Floats, truncation: int | None
) -> SwapTerms:
    """The terms of a metric in which only the places of the two documents count: means over their ties.

    Where no two scores are equal these are the places themselves, and beta is 1 (left empty).
    """
    if lists.pairs is None and not any_tie(lists.scores, order, lists.offsets):
        ranks_of = untied_ranks(lists.n_lists, truncation)
        return SwapTerms(gain, by_rank, _NONE, by_rank, factor, ranks_of, _NONE)
    offsets, top = lists.offsets, EVERY if truncation is None else truncation
    tied = tied_ranks(lists.scores[order], offsets, truncation)
    return SwapTerms(
        gain,
        tied_means(by_rank, tied, offsets, top),
        tied.share,
        tied_means(by_rank, tied, offsets, EVERY),
        factor,
        tied,
        within_ties(by_rank, tied, offsets, top),
    )


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
