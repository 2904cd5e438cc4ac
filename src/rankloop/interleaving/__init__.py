"""Two or more rankers on one page: which one do people prefer.

A method has `combine(rankings, k) -> Page` and `credit(page, clicks) -> one number per ranker`. `verdict`
turns credits into a statement with its error, `always_valid` into one that may be looked at every day.
"""

from rankloop.interleaving.always_valid import Sequential, always_valid
from rankloop.interleaving.balanced import Balanced
from rankloop.interleaving.click_contrasts import CLICK_KINDS, click_contrasts
from rankloop.interleaving.duel import Duel, method, read_duel, simulate_duel
from rankloop.interleaving.learn_weights import learn_weights
from rankloop.interleaving.optimized import Optimized
from rankloop.interleaving.page import Page, Ranking
from rankloop.interleaving.pages_needed import pages_needed, power
from rankloop.interleaving.pairwise_preference import PairwisePreference
from rankloop.interleaving.probabilistic import Probabilistic
from rankloop.interleaving.replay import Difference, Replay, replay
from rankloop.interleaving.team_draft import TeamDraft
from rankloop.interleaving.verdict import Verdict, sign_test, verdict

__all__ = [
    "CLICK_KINDS",
    "Balanced",
    "Difference",
    "Duel",
    "Optimized",
    "Page",
    "PairwisePreference",
    "Probabilistic",
    "Ranking",
    "Replay",
    "Sequential",
    "TeamDraft",
    "Verdict",
    "always_valid",
    "click_contrasts",
    "learn_weights",
    "method",
    "pages_needed",
    "power",
    "read_duel",
    "replay",
    "sign_test",
    "simulate_duel",
    "verdict",
]
