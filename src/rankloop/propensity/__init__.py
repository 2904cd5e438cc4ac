"""How likely each result was to be seen.

A propensity estimator is a function `log -> Propensity`: one number per rank, 1 at the first, with its 95 %
interval by bootstrap over queries.
"""

from rankloop.propensity.curve import Propensity
from rankloop.propensity.harvest import harvest
from rankloop.propensity.identifiability import Identifiability, IdentifiabilityWarning, identifiability
from rankloop.propensity.layouts import by_layout
from rankloop.propensity.plan_swaps import SwapPlan, plan_swaps
from rankloop.propensity.randomized import randomized
from rankloop.propensity.swap_intervention import swap_intervention

__all__ = [
    "Identifiability",
    "IdentifiabilityWarning",
    "Propensity",
    "SwapPlan",
    "by_layout",
    "harvest",
    "identifiability",
    "plan_swaps",
    "randomized",
    "swap_intervention",
]
