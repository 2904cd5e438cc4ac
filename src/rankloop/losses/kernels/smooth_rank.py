"""Smooth ranks: one plus the sum of the sigmoids of the score gaps to the others."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import over_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.math import exp_negative, fast, inner
from rankloop.losses.kernels.smooth_sums import LONG, smooth_sums

__all__ = ["smooth_lambdas", "smooth_ranks"]

Given = tuple[Floats, Floats, Ints, float]  # scores, hits, offsets, slope


def smooth_ranks(lists: LossLists, hit: Floats, temperature: float) -> tuple[Floats, Floats]:
    r"""For each document :math:`1 + \sum_j \sigma((s_j - s_i)/\tau)`, and the same sum over hits alone.

    `hit` has 0 and 1. Lists from `LONG` documents on are added up by `smooth_sums`.
    """
    rank, hits = np.empty(lists.n_documents), np.empty(lists.n_documents)
    slope = 1.0 / temperature
    given = (lists.scores, hit, lists.offsets, slope)

    def work(first: int, last: int) -> None:
        _rank_lists(first, last, given, rank, hits)

    over_lists(work, lists.offsets)
    for rows in _long_lists(lists):
        columns = np.stack([np.ones(rows.stop - rows.start), hit[rows]], axis=1)
        sums = smooth_sums(lists.scores[rows], slope, columns, steep=False)
        rank[rows], hits[rows] = sums[:, 0] + 0.5, sums[:, 1] - 0.5 * hit[rows]
    return rank, hits


def smooth_lambdas(
    lists: LossLists, hit: Floats, temperature: float, by_rank: Floats, by_hits: Floats
) -> tuple[Floats, Floats]:
    """Gradient from the derivatives of a loss by its smooth ranks and hits.

    The loss is not convex: its Hessian is the size of all lambdas between a document and the others, so that
    no Newton step is longer than one.
    """
    gradient, hessian = np.empty(lists.n_documents), np.empty(lists.n_documents)
    slope = 1.0 / temperature
    given = (lists.scores, hit, lists.offsets, slope)

    def work(first: int, last: int) -> None:
        _lambda_lists(first, last, given, by_rank, by_hits, gradient, hessian)

    over_lists(work, lists.offsets)
    for rows in _long_lists(lists):
        gradient[rows], hessian[rows] = _long_lambdas(
            lists.scores[rows], slope, hit[rows], by_rank[rows], by_hits[rows]
        )
    return gradient, hessian


def _long_lists(lists: LossLists) -> list[slice]:
    """The rows of each list that `smooth_sums` adds up."""
    starts, stops = lists.offsets[:-1], lists.offsets[1:]
    return [slice(int(starts[q]), int(stops[q])) for q in np.flatnonzero(stops - starts >= LONG)]


def _long_lambdas(
    scores: Floats, slope: float, hit: Floats, by_rank: Floats, by_hits: Floats
) -> tuple[Floats, Floats]:
    """As `_lambda_row`, with what depends on both documents split into sums over one: hits are 0 or 1."""
    both = by_rank + by_hits
    columns = [np.ones(len(scores)), hit, by_rank, by_hits, np.abs(by_rank), np.abs(both)]
    sums = smooth_sums(scores, slope, np.stack(columns, axis=1), steep=True)
    all_, hits, ranked, hit_by, size, size_hit = sums.T
    lambda_ = ranked + hit_by * hit - by_rank * all_ - by_hits * hits
    theirs = np.where(hit > 0, size_hit, size)
    hess = theirs + np.abs(by_rank) * (all_ - hits) + np.abs(both) * hits
    own = np.abs(by_rank + by_hits * hit)
    return slope * lambda_, slope * np.maximum(hess - 0.5 * own, 0.0)


@fast
def _rank_lists(first: int, last: int, given: Given, rank: Floats, hits: Floats) -> None:
    scores, hit, offsets, slope = given
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        for i in range(start, stop if stop - start < LONG else start):
            rank[i], hits[i] = _rank_row(scores[i], scores[start:stop], hit[start:stop], slope)
            rank[i] += 0.5  # the document itself was counted as one half
            hits[i] -= 0.5 * hit[i]


@inner
def _rank_row(score: float, scores: Floats, hit: Floats, slope: float) -> tuple[float, float]:
    rank, hits = 0.0, 0.0
    for j in range(scores.size):
        gap = slope * (scores[j] - score)
        t = exp_negative(abs(gap))
        above = (1.0 if gap > 0.0 else t) / (1.0 + t)
        rank += above
        hits += hit[j] * above
    return rank, hits


@fast
def _lambda_lists(
    first: int, last: int, given: Given, by_rank: Floats, by_hits: Floats, gradient: Floats, hessian: Floats
) -> None:
    scores, hit, offsets, slope = given
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        for i in range(start, stop if stop - start < LONG else start):
            lambda_, hess = _lambda_row(
                scores[i], hit[i], by_rank[i], by_hits[i], slope,
                scores[start:stop], hit[start:stop], by_rank[start:stop], by_hits[start:stop],
            )  # fmt: skip
            gradient[i] = slope * lambda_
            # Without the document's own term, at a slope of one quarter.
            hessian[i] = slope * (hess - 0.5 * abs(by_rank[i] + by_hits[i] * hit[i]))


@inner
def _lambda_row(
    score: float,
    own_hit: float,
    own_rank: float,
    own_hits: float,
    slope: float,
    scores: Floats,
    hit: Floats,
    by_rank: Floats,
    by_hits: Floats,
) -> tuple[float, float]:
    lambda_, hess = 0.0, 0.0
    for j in range(scores.size):
        t = exp_negative(abs(slope * (scores[j] - score)))
        steep = t / ((1.0 + t) * (1.0 + t))
        theirs, ours = by_rank[j] + by_hits[j] * own_hit, own_rank + own_hits * hit[j]
        lambda_ += steep * (theirs - ours)
        hess += steep * (abs(theirs) + abs(ours))
    return lambda_, hess
