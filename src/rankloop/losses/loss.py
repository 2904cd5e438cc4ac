"""The contract of every loss, and the losses of names."""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import unknown
from rankloop._options import passes_to
from rankloop.losses.kernels.lists import LossLists, Weights, without_contrast
from rankloop.losses.loss_result import LossResult

__all__ = ["Loss", "loss"]


class Loss:
    """The contract of every loss; a new one is a frozen dataclass with `_compute`.

    `loss(scores, labels, offsets)` gives a `LossResult`. Item weights multiply what a document's relevance
    contributes (its term, its pairs as the preferred one, its target mass; the gradient is linear in them),
    query weights scale value, gradient and Hessian of a list. A list whose labels are all equal carries no
    information about order: its value, gradient and Hessian are zero, except under pointwise losses.
    """

    takes_pairs: ClassVar[bool] = False  # explicit preferences may replace the pairs of the labels
    pointwise: ClassVar[bool] = False  # every document counts, also in a list of equal labels
    signed_labels: ClassVar[bool] = False  # labels are scores of a teacher and may be negative

    @passes_to(LossLists.__init__)
    def __call__(
        self, scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **weights: Unpack[Weights]
    ) -> LossResult:
        return self._run(scores, labels, offsets, weights, exact=True)

    @passes_to(LossLists.__init__)
    def derivatives(
        self, scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **weights: Unpack[Weights]
    ) -> tuple[Floats, Floats]:
        """Gradient and Hessian alone, faster where the value costs extra: what boosted trees take.

        Losses over pairs may work in single precision here, as tree libraries store gradients in it.
        """
        result = self._run(scores, labels, offsets, weights, exact=False)
        return result.gradient, result.hessian

    def prepare(
        self, labels: Singles, offsets: Ints, query_weight: NDArray[np.floating] | None = None
    ) -> Callable[[Floats], tuple[Singles, Singles] | None] | None:
        """Faster `derivatives` for labels that stay the same, as in boosting; None where there are none.

        It takes scores and gives gradient and Hessian in single precision, or None for scores beyond it.
        """
        return None

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
        """The name that `rankloop.losses.loss` turns back into this loss, with the options that differ.

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
        self, scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, weights: Weights, *, exact: bool
    ) -> LossResult:
        if weights.get("pairs") is not None and not self.takes_pairs:
            raise ValueError(
                f"{type(self).__name__} learns from labels and would ignore the pairs; "
                "leave them out or take a pairwise loss"
            )
        lists = LossLists(scores, labels, offsets, signed=self.signed_labels, **weights)
        result = self._compute(lists, exact)
        if not (self.pointwise or self.takes_pairs):
            equal = without_contrast(lists.labels, lists.offsets)
            if equal.any():
                rows = lists.spread(equal)
                result.value[equal] = 0.0
                result.gradient[rows] = 0.0
                result.hessian[rows] = 0.0
        if lists.query_weight is not None:
            by_row = lists.spread(lists.query_weight)
            return LossResult(
                result.value * lists.query_weight, result.gradient * by_row, result.hessian * by_row
            )
        return result

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        """The result for checked lists; where not `exact`, the value may be left out (nan)."""
        raise NotImplementedError


def loss(name: str | Loss) -> Loss:
    """The loss of a name, with options in brackets; a loss passes through.

    >>> loss("lambdarank(metric=map, truncation=10)")
    LambdaRank(metric='map', truncation=10, sigma=1.0, gain='exp2', max_label=None, relevance_threshold=1.0,
        norm_gap=False, norm_list=False)
    >>> loss("lambdrank")
    Traceback (most recent call last):
        ...
    ValueError: unknown loss 'lambdrank'; did you mean 'lambdarank'? known: ...
    """
    if isinstance(name, Loss):
        return name
    match = re.fullmatch(r"\s*([\w+-]+)\s*(?:\((.*)\))?\s*", str(name), re.DOTALL)
    known = _known()
    plain = match[1].lower().replace("_", "").replace("-", "") if match else str(name)
    if match is None or plain not in known:
        raise unknown("loss", name if match is None else match[1], known)
    kind = known[plain]
    options: dict[str, Any] = {}
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # every loss is a dataclass
    for part in _parts(match[2] or ""):
        key, equals, text = part.partition("=")
        if key.strip() not in names or not equals:
            raise unknown(f"option of {plain}", key.strip(), names)
        options[key.strip()] = _value(text.strip())
    return kind(**options)


def _written(value: Any) -> str:
    if isinstance(value, Loss):
        return value.name
    if isinstance(value, tuple):
        return "/".join(f"{part:g}" for part in value)
    return str(value)


def _known() -> dict[str, type[Loss]]:
    import rankloop.losses as family

    members = (getattr(family, name) for name in family.__all__)
    return {
        member.__name__.lower(): member
        for member in members
        if isinstance(member, type) and issubclass(member, Loss) and member is not Loss
    }


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in [*parts, text[start:]] if part.strip()]


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "/" in text:
        return tuple(float(part) for part in text.split("/"))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")
