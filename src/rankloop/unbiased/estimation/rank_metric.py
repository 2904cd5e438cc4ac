"""Metrics that clicks can estimate: sums over documents of a weight by rank times relevance."""

import re

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import unknown
from rankloop.lists.discount import discount

__all__ = ["RankMetric", "rank_metric", "ranked"]

METRICS = ("arp", "ctr", "dcg", "precision")


class RankMetric:
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
            weight = discount(rank)
        elif self.name == "precision":
            weight = np.full(depth, 1.0 / (self.k or 1))
        elif self.name == "arp":
            weight = rank
        else:
            weight = np.zeros(depth)
            weight[: len(alpha)] = alpha[:depth]
        return np.where(rank <= (self.k or depth), weight, 0.0)

    def weights(self, scores: Floats, offsets: Ints, alpha: Floats) -> Floats:
        r""":math:`\lambda` of each document; documents with equal scores share the mean over their ranks."""
        order, query, index = ranked(scores, offsets)
        placed = self.by_rank(int(np.diff(offsets).max(initial=1)), alpha)[index]
        starts = np.ones(len(order), bool)
        starts[1:] = (scores[order][1:] != scores[order][:-1]) | (query[1:] != query[:-1])
        tie = np.cumsum(starts) - 1
        shared = np.bincount(tie, placed) / np.bincount(tie)
        weights = np.empty(len(scores))
        weights[order] = shared[tie]
        return weights


def ranked(scores: Floats, offsets: Ints) -> tuple[Ints, Ints, Ints]:
    """The rows by list and falling score, and for each its list and its place there, from 0."""
    lengths = np.diff(offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    return np.lexsort((-scores, query)), query, np.arange(len(scores)) - offsets[:-1][query]


def rank_metric(text: str) -> RankMetric:
    """By name: `"dcg@10"`, `"precision@5"`, `"arp"` (the sum of the ranks of relevant documents), `"ctr"`.

    >>> str(rank_metric("dcg@10"))
    'dcg@10'
    """
    match = re.fullmatch(r"(\w+?)(?:@(\d+))?", text)
    if match is None or match[1] not in METRICS:
        raise unknown("metric", text, [f"{name}@k" for name in METRICS])
    k = None if match[2] is None else int(match[2])
    if k == 0 or (match[1] == "precision" and k is None) or (match[1] == "arp" and k is not None):
        raise ValueError(
            f"{text}: precision needs a cut-off (precision@5), arp has none, others may have one"
        )
    return RankMetric(match[1], k)
