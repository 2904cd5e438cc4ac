"""Learning while serving: `rank` shows a page, `learn` takes its clicks."""

from rankloop.online.bandits import EpsilonGreedy, Thompson, any_click
from rankloop.online.coltr import COLTR
from rankloop.online.dbgd import DBGD, MGD
from rankloop.online.drift_alarm import DriftAlarm
from rankloop.online.gate import Gate, GateDecision
from rankloop.online.learner import Learner
from rankloop.online.learning_curve import LearningCurve, learning_curve
from rankloop.online.nsgd import NSGD
from rankloop.online.pdgd import PDGD
from rankloop.online.ranking import Ranking
from rankloop.online.safe import Safe, exposure_share

__all__ = [
    "COLTR",
    "DBGD",
    "MGD",
    "NSGD",
    "PDGD",
    "DriftAlarm",
    "EpsilonGreedy",
    "Gate",
    "GateDecision",
    "Learner",
    "LearningCurve",
    "Ranking",
    "Safe",
    "Thompson",
    "any_click",
    "exposure_share",
    "learning_curve",
]
