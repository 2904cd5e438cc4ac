"""What every loss is: a small frozen object that turns scores and labels into value, gradient, Hessian."""

from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data import Pairs
from rankloop.losses.kernels.lists import Lists, make_lists, without_contrast

__all__ = ["Loss", "LossResult"]


class LossResult(NamedTuple):
    """One value per list; gradient and Hessian (>= 0) of the sum of the values, one per document."""

    value: NDArray[np.float64]
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]


class Loss:
    """The contract of every loss; a new one is a frozen dataclass with `_compute`.

    `loss(scores, labels, offsets)` gives a `LossResult`. Item weights say how much a document's own
    relevance counts (its term, its pairs as the preferred one, its target mass), query weights scale
    value, gradient and Hessian of a list. A list whose labels are all equal says nothing about order: its
    value, gradient and Hessian are zero, except under pointwise losses.
    """

    takes_pairs: ClassVar[bool] = False  # explicit preferences may replace the pairs of the labels
    pointwise: ClassVar[bool] = False  # every document counts, also in a list of equal labels
    signed_labels: ClassVar[bool] = False  # labels are scores of a teacher and may be negative

    def __call__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        pairs: Pairs | None = None,
    ) -> LossResult:
        return self._run(scores, labels, offsets, weight, query_weight, pairs, exact=True)

    def derivatives(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        pairs: Pairs | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient and Hessian alone, faster where the value costs extra: what boosted trees take.

        Losses over pairs may work in single precision here (tree libraries store gradients so).
        """
        result = self._run(scores, labels, offsets, weight, query_weight, pairs, exact=False)
        return result.gradient, result.hessian

    @property
    def smooth(self) -> bool:
        """Whether the value has neither jumps nor corners, so that a line search can trust the gradient.

        >>> from rankloop.losses import Hinge, LambdaRank
        >>> Hinge().smooth, Hinge(squared=True).smooth, LambdaRank().smooth
        (False, True, False)
        """
        return True

    @property
    def name(self) -> str:
        """The name that `rankloop.losses.loss` turns back into this loss: options that differ from default.

        >>> from rankloop.losses import LambdaRank
        >>> LambdaRank(metric="map", truncation=10).name
        'lambdarank(metric=map, truncation=10)'
        """
        options = [
            f"{field.name}={_written(value)}"
            for field in fields(self)  # type: ignore[arg-type]  # every loss is a dataclass
            if _written(value := getattr(self, field.name)) != _written(field.default)
        ]
        plain = type(self).__name__.lower()
        return f"{plain}({', '.join(options)})" if options else plain

    def _run(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        weight: ArrayLike | None,
        query_weight: ArrayLike | None,
        pairs: Pairs | None,
        *,
        exact: bool,
    ) -> LossResult:
        if pairs is not None and not self.takes_pairs:
            raise ValueError(
                f"{type(self).__name__} learns from labels and would ignore the pairs; "
                "leave them out or take a pairwise loss"
            )
        lists = make_lists(
            scores, labels, offsets, weight, query_weight, pairs, signed_labels=self.signed_labels
        )
        result = self._compute(lists, exact)
        if not (self.pointwise or self.takes_pairs):
            silent = without_contrast(lists.labels, lists.offsets)
            if silent.any():
                rows = np.repeat(silent, np.diff(lists.offsets))
                result.value[silent] = 0.0
                result.gradient[rows] = 0.0
                result.hessian[rows] = 0.0
        if lists.query_weight is not None:
            by_row = np.repeat(lists.query_weight, np.diff(lists.offsets))
            return LossResult(
                result.value * lists.query_weight, result.gradient * by_row, result.hessian * by_row
            )
        return result

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        raise NotImplementedError


def _written(value: Any) -> str:
    if isinstance(value, Loss):
        return value.name
    if isinstance(value, tuple):
        return "/".join(f"{part:g}" for part in value)
    return str(value)
