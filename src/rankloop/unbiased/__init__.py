"""Learning and evaluating from clicks.

A correction turns a log, a propensity and a data set into a `RankingDataset` whose labels estimate relevance,
one number per (query, document) whatever the number of sessions: any ranker can fit it. The labels are
relevance on a linear scale; `DCG` is the loss for them: linear gains, and no division by the DCG of an ideal
order, which would be made of clicks.
"""

from rankloop.losses import LambdaRank
from rankloop.unbiased.affine import affine
from rankloop.unbiased.after_click import after_click
from rankloop.unbiased.balance import Balance, balance
from rankloop.unbiased.candidates import candidates
from rankloop.unbiased.clipped import clipped
from rankloop.unbiased.counterfactual_estimate import CounterfactualEstimate, counterfactual_estimate
from rankloop.unbiased.direct_method import direct_method
from rankloop.unbiased.display_probability import display_probability
from rankloop.unbiased.doubly_robust import doubly_robust
from rankloop.unbiased.dual_learning_ranker import dual_learning_ranker
from rankloop.unbiased.goals import goals
from rankloop.unbiased.intervention_aware import intervention_aware
from rankloop.unbiased.ips import ips
from rankloop.unbiased.learn import learn
from rankloop.unbiased.learned import Learned
from rankloop.unbiased.likelihood import likelihood
from rankloop.unbiased.likelihood_ranker import likelihood_ranker
from rankloop.unbiased.naive import naive
from rankloop.unbiased.pair_debias_ranker import pair_debias_ranker
from rankloop.unbiased.plackett_luce import PlackettLuce
from rankloop.unbiased.policy_aware import policy_aware
from rankloop.unbiased.policy_gradient import policy_gradient
from rankloop.unbiased.prop_svm import prop_svm
from rankloop.unbiased.proximal import Proximal, proximal
from rankloop.unbiased.regression_em_ranker import regression_em_ranker
from rankloop.unbiased.relevance import relevance
from rankloop.unbiased.remember import Memory, remember
from rankloop.unbiased.select import Selection, select
from rankloop.unbiased.slate import slate
from rankloop.unbiased.snips import snips

DCG = LambdaRank(metric="dcg", gain="linear")

__all__ = [
    "DCG",
    "Balance",
    "CounterfactualEstimate",
    "Learned",
    "Memory",
    "PlackettLuce",
    "Proximal",
    "Selection",
    "affine",
    "after_click",
    "balance",
    "candidates",
    "clipped",
    "counterfactual_estimate",
    "direct_method",
    "display_probability",
    "doubly_robust",
    "dual_learning_ranker",
    "goals",
    "intervention_aware",
    "ips",
    "learn",
    "likelihood",
    "likelihood_ranker",
    "naive",
    "pair_debias_ranker",
    "policy_aware",
    "policy_gradient",
    "prop_svm",
    "proximal",
    "regression_em_ranker",
    "relevance",
    "remember",
    "select",
    "slate",
    "snips",
]
