"""Ragged lists, and the same as padded rows for peers that want those."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

__all__ = ["Lists", "some_lists"]


class Lists(NamedTuple):
    """`scores`, `labels` and `weight` are flat; a padded row is as long as the longest list."""

    scores: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    weight: np.ndarray

    @property
    def mask(self):
        lengths = np.diff(self.offsets)
        return np.arange(lengths.max()) < lengths[:, None]

    def rows(self, flat, fill=0.0):
        """One value per document as padded rows."""
        made = np.full(self.mask.shape, fill, np.float64)
        made[self.mask] = flat
        return made

    def flat(self, rows):
        return np.asarray(rows)[self.mask]

    def each(self):
        """The slices of the lists."""
        return [slice(a, b) for a, b in pairwise(self.offsets)]

    @property
    def contrast(self):
        """Lists with two different labels; on the others our listwise losses are 0 by definition."""
        return np.array([len(set(self.labels[one])) > 1 for one in self.each()])


def some_lists(seed, *, number=500, longest=15, grades=5, ties=False, distinct_labels=False):
    """Lists of random lengths; scores tie where `ties`, labels never where `distinct_labels`."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, number)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    total = int(offsets[-1])
    scores = rng.integers(0, 4, total).astype(float) if ties else rng.normal(0, 2, total)
    if distinct_labels:
        labels = np.concatenate([rng.permutation(n) for n in lengths]) / 4
    else:
        chances = np.array([0.5, 0.2, 0.15, 0.1, 0.05])[:grades]
        labels = rng.choice(grades, total, p=chances / chances.sum())
    return Lists(scores, labels.astype(np.float32), offsets, rng.uniform(0.1, 1, total).astype(np.float32))
