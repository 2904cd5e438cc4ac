"""How other libraries count: the options and means that reproduce their figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["CONVENTIONS", "Convention", "mean"]


@dataclass(frozen=True)
class Convention:
    """What a library does otherwise than we do."""

    name: str
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    single: bool = False

    def options_of(self, metric: str) -> Mapping[str, Any]:
        return self.options[metric]


CONVENTIONS: dict[str, Convention] = {}


def mean(
    values: ArrayLike,
    query_weight: ArrayLike | None = None,
    *,
    convention: Convention | None = None,
    metric: str = "",
) -> float:
    """The mean over lists that have a value, weighed by `query_weight`."""
    array = np.asarray(values, np.float64)
    known = ~np.isnan(array)
    weight = np.ones(len(array)) if query_weight is None else np.asarray(query_weight, np.float64)
    total = weight[known].sum()
    return float((weight[known] * array[known]).sum() / total) if total > 0 else float("nan")
