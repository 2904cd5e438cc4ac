"""What a place in a ranking is worth, for metrics that are sums over documents."""

import re

import numpy as np
from numpy.typing import NDArray

from rankloop._names import unknown
from rankloop.lists.discount import discount
from rankloop.unbiased.estimation.evidence import Floats

__all__ = ["Worth", "worth_of"]

METRICS = ("arp", "ctr", "dcg", "precision")


class Worth:
    r"""A metric :math:`\sum_d \lambda(\mathrm{rank}(d)) \, \gamma_d + \mathrm{const}` of a ranking."""

    def __init__(self, name: str, k: int | None) -> None:
        self.name, self.k = name, k

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def higher_is_better(self) -> bool:
        return self.name != "arp"

    def by_rank(self, depth: int, alpha: Floats) -> Floats:
        r""":math:`\lambda` of the ranks 1 to `depth`; `alpha` is the slope of the clicks at each rank."""
        rank = np.arange(1.0, depth + 1)
        if self.name == "dcg":
            worth = discount(rank)
        elif self.name == "precision":
            worth = np.full(depth, 1.0 / (self.k or 1))
        elif self.name == "arp":
            worth = rank
        else:
            worth = np.zeros(depth)
            worth[: len(alpha)] = alpha[:depth]
        return np.where(rank <= (self.k or depth), worth, 0.0)

    def of(self, scores: Floats, offsets: NDArray[np.int64], alpha: Floats) -> Floats:
        """Of each document; equal scores share what their ranks are worth."""
        lengths = np.diff(offsets)
        query = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-scores, query))
        rank = np.arange(len(scores)) - offsets[:-1][query]
        placed = self.by_rank(int(lengths.max(initial=1)), alpha)[rank]
        starts = np.ones(len(order), bool)
        starts[1:] = (scores[order][1:] != scores[order][:-1]) | (query[1:] != query[:-1])
        tie = np.cumsum(starts) - 1
        shared = np.bincount(tie, placed) / np.bincount(tie)
        worth = np.empty(len(scores))
        worth[order] = shared[tie]
        return worth


def worth_of(metric: str) -> Worth:
    """By name: `"dcg@10"`, `"precision@5"`, `"arp"` (sum of the ranks of what is relevant), `"ctr"`.

    >>> str(worth_of("dcg@10"))
    'dcg@10'
    """
    told = re.fullmatch(r"(\w+?)(?:@(\d+))?", metric)
    if told is None or told[1] not in METRICS:
        raise unknown("metric", metric, [f"{name}@k" for name in METRICS])
    k = None if told[2] is None else int(told[2])
    if k == 0 or (told[1] == "precision" and k is None) or (told[1] == "arp" and k is not None):
        raise ValueError(f"{metric}: precision needs a cut-off (precision@5), arp has none, others may")
    return Worth(told[1], k)
