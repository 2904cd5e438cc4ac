"""One symmetric tree: a split for each level, and a value for each leaf."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Singles
from rankloop._jit import over_lists, thread_count
from rankloop.rankers.trees.feature_bins import FeatureBins
from rankloop.rankers.trees.symmetric_kernels import best_splits, leaf_sums, packed_sums, send

__all__ = ["Growing", "Level", "SymmetricTree"]

_STEPS = 2.0**30  # of the sums of gradients and of Hessians
_MANY = 2_000_000  # documents times features from which on threads save time
_LEAST = 1e-12  # sum of Hessians of a leaf that has a value


@dataclass(frozen=True, slots=True)
class Level:
    """The split of all leaves of a level: up to the `edge` of the feature on the left.

    `missing` says whether missing values have a side of their own: the left one, if `left`.
    """

    feature: int
    edge: int
    threshold: float
    missing: bool
    left: bool
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class SymmetricTree:
    """Levels from the root on; value, sum of Hessians and number of documents of each leaf.

    The number of a leaf has a bit for each level, the root's first; the bit is set on the right.
    """

    levels: list[Level]
    value: Floats
    weight: Floats
    count: Floats

    def leaves(self, bins: Bytes, data: FeatureBins) -> Bytes:
        """The leaf of each document."""
        leaf = np.zeros(bins.shape[1], np.uint8)
        for level in self.levels:
            send(bins[level.feature], level.edge, data.kinds[level.feature, 1], level.left, leaf)
        return leaf


@dataclass(frozen=True, slots=True, eq=False)
class Growing:
    """What all trees of a forest share; each level draws a `share` of the features."""

    data: FeatureBins
    bins: Bytes  # of the documents trained on
    depth: int
    rate: float
    l2: float
    least: float  # sum of Hessians of a leaf
    share: float
    threads: int | None
    rng: np.random.Generator

    def tree(self, gradient: Singles, hessian: Singles) -> tuple[SymmetricTree, Bytes]:
        """The tree for these derivatives, and the leaf of each document."""
        documents = len(gradient)
        whole = float(np.abs(gradient).sum(dtype=np.float64)), float(hessian.sum(dtype=np.float64))
        steps = np.maximum(whole, np.finfo(np.float32).tiny) / _STEPS
        sums = np.empty(documents, np.int64)
        packed_sums(gradient, hessian, steps, sums)
        leaf = np.zeros(documents, np.uint8)
        levels: list[Level] = []
        before = 0.0
        if whole[1] >= max(self.least, _LEAST):
            before = float(gradient.sum(dtype=np.float64)) ** 2 / (whole[1] + self.l2)
        for depth in range(self.depth):
            level = self._split(leaf, sums, 1 << depth, steps, before)
            if level is None:
                break
            send(self.bins[level.feature], level.edge, self.data.kinds[level.feature, 1], level.left, leaf)
            before += level.gain
            levels.append(level)
        total = np.empty((1 << len(levels), 3))
        leaf_sums(leaf, gradient, hessian, total)
        gradients, weight, count = total.T
        enough = weight >= max(self.least, _LEAST)
        value = np.zeros(len(total))
        value[enough] = -self.rate * gradients[enough] / (weight[enough] + self.l2)
        return SymmetricTree(levels, _filled(value, count), weight, count), leaf

    def _split(self, leaf: Bytes, sums: Ints, leaves: int, steps: Floats, before: float) -> Level | None:
        """The best split of all leaves together, or None where no split is better than none."""
        chosen = np.arange(len(self.bins))
        if self.share < 1:
            few = max(1, round(self.share * len(chosen)))
            chosen = np.sort(self.rng.choice(chosen, few, replace=False))
        found = np.empty((len(chosen), 3))

        def work(a: int, b: int) -> None:
            best_splits(
                self.bins, self.data.kinds, chosen[a:b], leaf, sums, leaves, steps, self.l2,
                max(self.least, _LEAST), found[a:b],
            )  # fmt: skip

        if len(leaf) * len(chosen) < _MANY:
            work(0, len(chosen))
        else:
            over_lists(work, np.arange(len(chosen) + 1), threads=thread_count(self.threads))
        at = int(found[:, 0].argmax())
        gain = float(found[at, 0]) - before
        if gain <= _LEAST * before:
            return None
        feature, edge = int(chosen[at]), int(found[at, 1])
        threshold = self.data.threshold(feature, edge)
        missing = bool(self.data.kinds[feature, 1] >= 0)
        return Level(feature, edge, threshold, missing, bool(found[at, 2]), gain)


def _filled(value: Floats, count: Floats) -> Floats:
    """Leaves without documents get the values of the other side of the highest node that is empty there."""
    value, count = value.copy(), count.copy()
    width = len(value)
    while width > 1:
        for first in range(0, len(value), width):
            left, right = slice(first, first + width // 2), slice(first + width // 2, first + width)
            for empty, other in ((left, right), (right, left)):
                if not count[empty].any():
                    value[empty], count[empty] = value[other], count[other]
        width //= 2
    return value
