"""InfoNCE: each positive against the negatives of its list."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.options import positive
from rankloop.losses.unique_softmax import against_lower

__all__ = ["InfoNCE", "in_batch"]


@dataclass(frozen=True)
class InfoNCE(Loss):
    r"""Contrastive loss (van den Oord et al., 2018): the positive among its negatives, at a temperature.

    .. math:: C = -\sum_{i^+} w_i \log \frac{e^{s_i/\tau}}{e^{s_i/\tau} + \sum_{j^-} e^{s_j/\tau}}

    Labels from `relevant` on are positives; several positives of a list do not compete. `in_batch` lays out a
    batch of queries whose documents serve as each other's negatives.

    >>> labels, offsets = in_batch(2)
    >>> similarity = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> InfoNCE(temperature=0.5)(similarity.ravel(), labels, offsets).value.round(4)
    array([0.1269, 0.1269])
    """

    temperature: float = 0.05
    relevant: float = 1.0

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature, relevant=self.relevant)

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        hit = (lists.labels >= self.relevant).astype(np.float32)
        warm = lists._replace(scores=lists.scores / self.temperature, labels=hit)
        value, gradient, hessian = against_lower(warm, lists.mass(hit.astype(np.float64)))
        return LossResult(value, gradient / self.temperature, hessian / self.temperature**2)


def in_batch(queries: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Labels and offsets for a square of similarities: a row per query, its own document on the diagonal.

    >>> in_batch(2)
    (array([1., 0., 0., 1.], dtype=float32), array([0, 2, 4]))
    """
    return np.eye(queries, dtype=np.float32).ravel(), np.arange(0, queries * queries + 1, queries)
