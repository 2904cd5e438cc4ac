"""Learning while serving: `rank` shows a page, `learn` takes a step from its clicks."""

from rankloop.online.coltr import COLTR
from rankloop.online.dbgd import DBGD
from rankloop.online.drift_alarm import DriftAlarm
from rankloop.online.epsilon_greedy import EpsilonGreedy
from rankloop.online.exposure_share import exposure_share
from rankloop.online.gate import Gate
from rankloop.online.learner import Learner
from rankloop.online.learning_curve import LearningCurve, learning_curve
from rankloop.online.mgd import MGD
from rankloop.online.nsgd import NSGD
from rankloop.online.pdgd import PDGD
from rankloop.online.ranking import Ranking
from rankloop.online.safe import Safe
from rankloop.online.thompson import Thompson

__all__ = [
    "COLTR",
    "DBGD",
    "MGD",
    "NSGD",
    "PDGD",
    "DriftAlarm",
    "EpsilonGreedy",
    "Gate",
    "Learner",
    "LearningCurve",
    "Ranking",
    "Safe",
    "Thompson",
    "exposure_share",
    "learning_curve",
]
