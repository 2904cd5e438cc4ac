"""How likely each result was to be examined.

A propensity estimator is a function `log -> Propensity`: one number per rank, 1 at the first, with its 95 %
interval by bootstrap over queries. Estimators that use an experiment (`randomized`, `swap_intervention`,
`fair_pairs`) or documents that moved (`harvest`) need the log alone; those that explain relevance by
features (`regression_em`, `dual_learning`, `pair_debias`) take a data set too and come with the report of
`identifiability`, and with a warning where position cannot be separated from relevance.
"""

from rankloop.propensity.by_cell import by_cell
from rankloop.propensity.by_layout import by_layout
from rankloop.propensity.contextual import ContextualPropensity, contextual
from rankloop.propensity.drift import Drift, drift
from rankloop.propensity.dual_learning import dual_learning
from rankloop.propensity.estimate import estimate
from rankloop.propensity.fair_pairs import fair_pairs
from rankloop.propensity.harvest import harvest
from rankloop.propensity.identifiability import Identifiability, identifiability
from rankloop.propensity.identifiability_warning import IdentifiabilityWarning
from rankloop.propensity.pair_debias import pair_debias
from rankloop.propensity.pair_preferences import Preferences, pair_preferences
from rankloop.propensity.plan_swaps import SwapPlan, plan_swaps
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.randomized import randomized
from rankloop.propensity.regression_em import regression_em
from rankloop.propensity.swap_intervention import swap_intervention
from rankloop.propensity.trust_bias import TrustBias, trust_bias
from rankloop.propensity.trust_warning import TrustWarning

__all__ = [
    "ContextualPropensity",
    "Drift",
    "Identifiability",
    "IdentifiabilityWarning",
    "Preferences",
    "Propensity",
    "SwapPlan",
    "TrustBias",
    "TrustWarning",
    "by_cell",
    "by_layout",
    "contextual",
    "drift",
    "dual_learning",
    "estimate",
    "fair_pairs",
    "harvest",
    "identifiability",
    "pair_debias",
    "pair_preferences",
    "plan_swaps",
    "randomized",
    "regression_em",
    "swap_intervention",
    "trust_bias",
]
