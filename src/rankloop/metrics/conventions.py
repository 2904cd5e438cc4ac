"""How other libraries count: the options and means that reproduce their figures.

========== ======================================== ======================== =============================
convention differs from here by                     a list with nothing      query weights
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

Where a peer weights blank lists wrongly, their value here is nan, and the mean of the metric adds them as
that peer does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rankloop._names import unknown

__all__ = ["CONVENTIONS", "Convention", "Rule", "of_trec_eval"]

_TREC_NAMES = {
    "P": "p",
    "Rprec": "r_precision",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "recall": "recall",
    "recip_rank": "mrr",
    "success": "hit",
}
_TREC_SHAPE = re.compile(rf"({'|'.join(_TREC_NAMES)})(?:[_.](\d+))?")
_TREC_WHOLE = ("Rprec", "recip_rank")  # the others have a cut-off in their names


@dataclass(frozen=True)
class Rule:
    """How one library computes one metric: its options, and how it averages over lists.

    `blank_adds` is what a list without a value adds to the weighted sum, whatever its weight.
    """

    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weighted: bool = True
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
                    {**_WORST, "divide_by": "reachable", "empty": "zero"}, weighted=False
                ),
                "reciprocal_rank": Rule({**_WORST, "empty": "zero"}),
                "err": Rule({**_WORST, "gain": "linear", "max_label": 1, "empty": "zero"}),
                "precision": Rule({**_WORST, "divide_by": "shown", "empty": "zero"}, weighted=False),
                "recall": Rule({**_WORST, "empty": "one"}, weighted=False),
            },
        ),
        Convention("sklearn", {name: Rule({"gain": "linear", "empty": "zero"}) for name in ("ndcg", "dcg")}),
        Convention(
            "trec",
            {
                "ndcg": Rule({**_BY_ID, "gain": "linear"}),
                **dict.fromkeys(
                    (
                        "average_precision",
                        "reciprocal_rank",
                        "precision",
                        "recall",
                        "hit",
                        "r_precision",
                        "bpref",
                        "infap",
                    ),
                    Rule(_BY_ID),
                ),
            },
            single=True,
        ),
    )
}


def of_trec_eval(name: str) -> str | None:
    """The metric here that trec_eval calls `name`; None for a name that it does not have, or shares with us.

    >>> of_trec_eval("ndcg_cut_10"), of_trec_eval("recip_rank"), of_trec_eval("map")
    ('ndcg@10', 'mrr', None)
    """
    parts = _TREC_SHAPE.fullmatch(name.strip())
    if parts is None or (parts[2] is None) != (parts[1] in _TREC_WHOLE):
        return None
    return _TREC_NAMES[parts[1]] + ("" if parts[2] is None else f"@{parts[2]}")
