"""How other libraries count: the options and means that reproduce their figures.

========== ======================================== ======================== =============================
convention otherwise than here                      a list with nothing      query weights
                                                    relevant counts
========== ======================================== ======================== =============================
lightgbm   input order breaks ties; map divides by  1                        a blank list adds 1 to the sum
           min(R, k)                                                         of ndcg whatever its weight,
                                                                             so the mean can leave [0, 1]
xgboost    as lightgbm; float32 scores; precision   1, for precision 0       as lightgbm, and it aborts when
           divides by min(n, k)                                              the mean exceeds 1
catboost   worst order of ties; linear gain; err    1 for ndcg and recall,   ignored by map, precision and
           takes labels as probabilities; map       0 for the others         recall
           divides by min(R, k), precision by
           min(n, k)
sklearn    linear gain                              0                        `sample_weight`
trec       linear gain; float32 scores; the larger  0                        none
           document id first (`tie_break`)
========== ======================================== ======================== =============================

Where a peer weighs blank lists wrongly their value here is nan, and the mean of the metric adds them as the
peer does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._names import unknown

__all__ = ["CONVENTIONS", "Convention", "Rule", "mean"]


@dataclass(frozen=True)
class Rule:
    """How one library computes one metric: its options, and how it averages over lists.

    `blank_adds` is what a list without a value adds to the weighted sum, whatever its weight.
    """

    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weighs: bool = True
    blank_adds: float | None = None


@dataclass(frozen=True)
class Convention:
    """How one library computes its metrics; `single` when it keeps scores in single precision."""

    name: str
    rules: Mapping[str, Rule] = field(hash=False)
    single: bool = False

    def rule(self, metric: str) -> Rule:
        if metric not in self.rules:
            raise unknown(f"metric of convention {self.name!r}", metric, self.rules)
        return self.rules[metric]


def mean(
    values: ArrayLike, query_weight: ArrayLike | None = None, *, blank_adds: float | None = None
) -> float:
    """The mean over the lists that have a value, each with its weight; nan when none has.

    Scaling all weights changes nothing, and the mean stays between the smallest and the largest value.

    >>> mean([1.0, 0.0, float("nan")], [3, 1, 5])
    0.75
    """
    array = np.asarray(values, np.float64)
    weight = np.ones(len(array)) if query_weight is None else np.asarray(query_weight, np.float64)
    if weight.shape != array.shape:
        raise ValueError(f"query_weight needs one weight per list ({len(array)}), got shape {weight.shape}")
    if not np.all(np.isfinite(weight) & (weight >= 0)):
        at = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
        raise ValueError(f"query_weight must be finite and >= 0, got {weight[at]:g} for list {at}")
    known = ~np.isnan(array)
    total = float(weight[known] @ array[known])
    base = float(weight[known].sum())
    if blank_adds is not None:
        total += blank_adds * float((~known).sum())
        base = float(weight.sum())
    return total / base if base > 0 else float("nan")


_INPUT_ORDER = {"ties": "stable"}
_WORST = {"ties": "worst"}
_BY_ID = {"ties": "stable", "empty": "zero"}
_BOOSTED = {
    "ndcg": Rule(_INPUT_ORDER, blank_adds=1.0),
    "average_precision": Rule({**_INPUT_ORDER, "divide_by": "reachable", "empty": "one"}),
}

CONVENTIONS = {
    made.name: made
    for made in (
        Convention("lightgbm", _BOOSTED),
        Convention(
            "xgboost",
            {**_BOOSTED, "precision": Rule({**_INPUT_ORDER, "divide_by": "shown", "empty": "zero"})},
            single=True,
        ),
        Convention(
            "catboost",
            {
                "ndcg": Rule({**_WORST, "gain": "linear", "empty": "one"}),
                "dcg": Rule({**_WORST, "gain": "linear", "empty": "zero"}),
                "average_precision": Rule(
                    {**_WORST, "divide_by": "reachable", "empty": "zero"}, weighs=False
                ),
                "reciprocal_rank": Rule({**_WORST, "empty": "zero"}),
                "err": Rule({**_WORST, "gain": "linear", "max_label": 1, "empty": "zero"}),
                "precision": Rule({**_WORST, "divide_by": "shown", "empty": "zero"}, weighs=False),
                "recall": Rule({**_WORST, "empty": "one"}, weighs=False),
            },
        ),
        Convention("sklearn", {name: Rule({"gain": "linear", "empty": "zero"}) for name in ("ndcg", "dcg")}),
        Convention(
            "trec",
            {
                "ndcg": Rule({**_BY_ID, "gain": "linear"}),
                **dict.fromkeys(
                    ("average_precision", "reciprocal_rank", "precision", "recall", "hit", "r_precision"),
                    Rule(_BY_ID),
                ),
            },
            single=True,
        ),
    )
}
