"""Kernels of one page: linear scores, Plackett-Luce probabilities and PDGD's gradient, in log space."""

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop._jit import kernel

__all__ = ["linear_scores", "log_page_probability", "pdgd_gradient", "pull_back", "top_k"]

Rows = Singles
Places = Ints


@kernel
def linear_scores(X: Rows, mean: Floats, slope: Floats) -> Floats:
    """slope · (x - mean) for every row; a missing feature counts as its mean."""
    scores = np.zeros(len(X))
    for row in range(len(X)):
        total = 0.0
        for feature in range(X.shape[1]):
            part = (X[row, feature] - mean[feature]) * slope[feature]
            total += part if part == part else 0.0
        scores[row] = total
    return scores


@kernel
def top_k(keys: Floats, k: int) -> Places:
    """The indices of the k largest keys, largest first; of equal keys the earlier one."""
    k = min(k, len(keys))
    best = np.empty(k, np.int64)
    filled = 0
    for index in range(len(keys)):
        if filled == k and keys[index] <= keys[best[k - 1]]:
            continue
        place = filled if filled < k else k - 1
        while place > 0 and keys[index] > keys[best[place - 1]]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = index
        if filled < k:
            filled += 1
    return best


@kernel
def _log_rest(scores: Floats, shown: Places) -> float:
    """The log of the summed exp(score) of the candidates that were not shown."""
    on_page = np.zeros(len(scores), np.bool_)
    on_page[shown] = True
    highest = -np.inf
    for index in range(len(scores)):
        if not on_page[index] and scores[index] > highest:
            highest = scores[index]
    if highest == -np.inf:
        return highest
    total = 0.0
    for index in range(len(scores)):
        if not on_page[index]:
            total += np.exp(scores[index] - highest)
    return float(highest + np.log(total))


@kernel
def log_page_probability(scores: Floats, shown: Places) -> Floats:
    """For each place the Plackett-Luce log-probability of its document, given the documents above."""
    chances = np.empty(len(shown))
    log_left = _log_rest(scores, shown)
    for place in range(len(shown) - 1, -1, -1):
        picked = scores[shown[place]]
        log_left = np.logaddexp(log_left, picked)
        chances[place] = picked - log_left
    return chances


@kernel
def _swap_log_ratio(picked: Floats, log_rest: float, high: int, low: int) -> float:
    """log P(page with two places swapped) - log P(page); only the places between the two change.

    Each remaining mass is summed without the moved document, to avoid cancellation.
    """
    places = len(picked)
    change = 0.0
    others = log_rest
    for place in range(low + 1, places):
        others = np.logaddexp(others, picked[place])
    for place in range(low, high, -1):
        if place < low:
            others = np.logaddexp(others, picked[place])
        change += np.logaddexp(others, picked[low]) - np.logaddexp(others, picked[high])
    return change


@kernel
def pdgd_gradient(scores: Floats, shown: Places, clicks: Bools, allowed: Bools) -> Floats:
    """PDGD's ascent direction on the scores of the shown documents (Oosterhuis & de Rijke, 2018).

    A clicked document is preferred to the unclicked ones above the last click and to the next one. Each
    pair is weighted by the probability of the page with the two swapped, which removes the bias of rank.
    `allowed[a, b]` is False where the swapped page is impossible.
    """
    places = len(shown)
    gradient = np.zeros(places)
    last = -1
    for place in range(places):
        if clicks[place]:
            last = place
    if last < 0:
        return gradient
    picked = scores[shown]
    log_rest = _log_rest(scores, shown)
    for winner in range(last + 1):
        if not clicks[winner]:
            continue
        for loser in range(min(last + 2, places)):
            if clicks[loser]:
                continue
            high, low = min(winner, loser), max(winner, loser)
            if not allowed[high, low]:
                continue
            ratio = _swap_log_ratio(picked, log_rest, high, low)
            weight = 1.0 / (1.0 + np.exp(-ratio))
            gap = np.exp(-np.abs(picked[winner] - picked[loser]))
            step = weight * gap / ((1.0 + gap) * (1.0 + gap))
            gradient[winner] += step
            gradient[loser] -= step
    return gradient


@kernel
def pull_back(X: Rows, shown: Places, gradient: Floats, mean: Floats, scale: Floats) -> Floats:
    """The gradient of the weights: the sum of gradient × standardised features over shown documents."""
    total = np.zeros(X.shape[1])
    for place in range(len(shown)):
        if gradient[place] == 0.0:
            continue
        row = shown[place]
        for feature in range(X.shape[1]):
            part = gradient[place] * (X[row, feature] - mean[feature]) / scale[feature]
            total[feature] += part if part == part else 0.0
    return total
