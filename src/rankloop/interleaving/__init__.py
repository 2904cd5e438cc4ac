"""Two or more rankers compared on people: interleaved on one page, or in an A/B test.

A method has `combine(rankings, k) -> Page` and `credit(page, clicks) -> one number per ranker`. `verdict`
judges the credits for one look at the end, `always_valid` and `ab_verdict` for any number of looks.
"""

from rankloop.interleaving.ab_verdict import ABVerdict, ab_verdict
from rankloop.interleaving.always_valid import Sequential, always_valid
from rankloop.interleaving.balanced import Balanced
from rankloop.interleaving.click_contrasts import click_contrasts
from rankloop.interleaving.duel import Duel, read_duel
from rankloop.interleaving.learn_weights import learn_weights
from rankloop.interleaving.method import Method, method
from rankloop.interleaving.optimized import Optimized
from rankloop.interleaving.page import Page
from rankloop.interleaving.pages_needed import pages_needed
from rankloop.interleaving.pairwise_preference import PairwisePreference
from rankloop.interleaving.power import power
from rankloop.interleaving.probabilistic import Probabilistic
from rankloop.interleaving.replay import Replay, replay
from rankloop.interleaving.sample_ratio import SampleRatio, sample_ratio
from rankloop.interleaving.simulate_duel import simulate_duel
from rankloop.interleaving.team_draft import TeamDraft
from rankloop.interleaving.verdict import Verdict, verdict

__all__ = [
    "ABVerdict",
    "Balanced",
    "Duel",
    "Method",
    "Optimized",
    "Page",
    "PairwisePreference",
    "Probabilistic",
    "Replay",
    "SampleRatio",
    "Sequential",
    "TeamDraft",
    "Verdict",
    "ab_verdict",
    "always_valid",
    "click_contrasts",
    "learn_weights",
    "method",
    "pages_needed",
    "power",
    "read_duel",
    "replay",
    "sample_ratio",
    "simulate_duel",
    "verdict",
]
