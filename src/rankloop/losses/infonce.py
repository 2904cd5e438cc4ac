"""InfoNCE: each positive against the negatives of its list."""

from dataclasses import dataclass

import numpy as np

from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.thresholded import Thresholded
from rankloop.losses.loss_result import LossResult
from rankloop.losses.unique_softmax import against_lower

__all__ = ["InfoNCE"]


@dataclass(frozen=True)
class InfoNCE(Thresholded):
    r"""Contrastive loss (van den Oord et al., 2018): the positive among its negatives, at a temperature.

    .. math:: C = -\sum_{i^+} w_i \log \frac{e^{s_i/\tau}}{e^{s_i/\tau} + \sum_{j^-} e^{s_j/\tau}}

    Labels from `relevance_threshold` on are positives; several positives of a list do not compete.
    `rankloop.losses.in_batch` lays out a batch of queries whose documents are each other's negatives.

    >>> from rankloop.losses import in_batch
    >>> labels, offsets = in_batch(2)
    >>> similarity = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> InfoNCE(temperature=0.5)(similarity.ravel(), labels, offsets).value.round(4)
    array([0.1269, 0.1269])
    """

    temperature: float = 0.05

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        hit = (lists.labels >= self.relevance_threshold).astype(np.float32)
        warm = lists.replace(scores=lists.scores / self.temperature, labels=hit)
        value, gradient, hessian = against_lower(warm, lists.weighted(hit.astype(np.float64)))
        return LossResult(value, gradient / self.temperature, hessian / self.temperature**2)
