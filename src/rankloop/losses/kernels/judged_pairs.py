"""The logistic losses over explicit pairs, with the weights that a rule gives their ranks."""

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop.losses.kernels.math import fast
from rankloop.losses.kernels.pair_rule import PairRule, list_scale

__all__ = ["judged_pairs"]


@fast
def judged_pairs(
    edges: Ints,
    better: Ints,
    worse: Ints,
    chance: Singles,
    heavy: Singles,
    offsets: Ints,
    scores: Floats,
    weight: Floats,
    rule: PairRule,
    sigma: float,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """The same costs for explicit pairs: cross-entropy with their own probability."""
    gain, own, ranks = rule.gain, rule.own, rule.ranks
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        total, size = 0.0, 0.0
        for p in range(edges[q], edges[q + 1]):
            a, b = better[p], worse[p]
            i, j = min(a, b), max(a, b)
            counts = 1.0 if ranks.end.size == 0 else ranks.share[i]
            same = ranks.end.size > 0 and j < ranks.end[i]
            up = heavy[p] * chance[p] * weight[a]
            down = heavy[p] * (1.0 - chance[p]) * weight[b]
            if own:
                up *= gain[a] * (rule.within[i] if same else counts)
                down *= gain[b] * (rule.within[i] if same else counts)
            elif not rule.sign:
                swap = rule.within[i] if same else 0.0
                if rule.halves.size > 0 and not same:
                    swap += counts * rule.halves[ranks.middle[j] - ranks.middle[i]]
                if rule.alpha.size > 0 and not same:
                    swap += rule.alpha[i] - rule.beta[i] * rule.gamma[j]
                up *= abs(gain[i] - gain[j]) * swap
                down *= abs(gain[i] - gain[j]) * swap
            if rule.shrink_gap and scores[start] > scores[stop - 1]:
                up /= 0.01 + abs(scores[a] - scores[b])
                down /= 0.01 + abs(scores[a] - scores[b])
            z = sigma * (scores[a] - scores[b])
            t = np.exp(-abs(z))
            right = (1.0 if z > 0.0 else t) / (1.0 + t)
            f = down * right - up * (1.0 - right if z < 0.0 else t / (1.0 + t))
            gradient[a] += f
            gradient[b] -= f
            hessian[a] += (up + down) * t / (1.0 + t) ** 2
            hessian[b] += (up + down) * t / (1.0 + t) ** 2
            size += abs(f)
            total += up * (np.log1p(t) + max(-z, 0.0)) + down * (np.log1p(t) + max(z, 0.0))
        scale = list_scale(size, rule.factor[q], sigma, rule.shrink_list)
        value[q] = total * scale
        for k in range(start, stop):
            gradient[k] *= scale * sigma
            hessian[k] *= scale * sigma * sigma
