"""A page of a version that learns: who sees which ranking, and what is drawn at random."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.online import PDGD, EpsilonGreedy, Safe, Thompson
from rankloop.rankers.linear_ranker import LinearRanker
from rankloop.serve.experiments.policy import share_of

if TYPE_CHECKING:
    from rankloop.online.bandits.bandit import Bandit
    from rankloop.search import Candidates
    from rankloop.serve.models.live import Learning

__all__ = ["Draw", "bandit_of", "draw", "explored", "pages_of", "warm"]

WIDE = 2  # times the length of a page: the documents of the learner's own ranking that are sampled from


@dataclass(frozen=True, eq=False)
class Draw:
    """What was drawn for one page: the floor's ranking (`control`), an arm, or a sample by weights."""

    version: str
    learning: "Learning"
    control: bool = False
    arm: str | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that rank the page; weights are kept above the floor, which ranks it too."""
        floor = self.learning.settings.floor
        if self.control:
            return (floor,)
        return (self.version, floor) if self.arm is None else (self.arm,)

    @property
    def ranker(self) -> str:
        """The name under which the page is recorded."""
        return self.learning.settings.floor if self.control else self.version

    @property
    def group(self) -> str:
        """The value of the column `experiment` of its page."""
        return pages_of(self.version, self.learning.run)

    def noted(self) -> dict[str, Any]:
        """What the page keeps of it."""
        about = {"version": self.version, "run": self.learning.run, "control": self.control}
        return about | ({"arm": self.arm} if self.arm is not None else {})


def draw(version: str, learning: "Learning", unit: str, page_id: str) -> Draw:
    """Who ranks a page: `unit` is its person, and the page itself where that is unknown."""
    settings = learning.settings
    if share_of("floor", version, str(learning.run), unit) < settings.control:
        return Draw(version, learning, control=True)
    if not settings.chooses:
        return Draw(version, learning)
    bandit = bandit_of(learning)
    bandit.random = _random(page_id)
    return Draw(version, learning, arm=bandit.choose())


def bandit_of(learning: "Learning") -> "Bandit":
    """The bandit with what it knows."""
    settings = learning.settings
    arms: dict[str, Any] = dict.fromkeys(settings.arms)
    made: Bandit = (
        Thompson(arms) if settings.learner == "thompson" else EpsilonGreedy(arms, epsilon=settings.epsilon)
    )
    made.served = np.array(learning.state["served"], np.float64)
    made.rewards = np.array(learning.state["rewards"], np.float64)
    return made


def pages_of(version: str, run: int) -> str:
    """The value of the column `experiment` of the pages of a run."""
    return f"online {version} {run}"


class _Order:
    """Scores that put documents into a given order, and all others after them."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order

    def predict(self, X: Any) -> Floats:
        scores = np.full(len(X), -1.0 - len(self.order))
        scores[list(self.order)] = -np.arange(len(self.order), dtype=np.float64)
        return scores


def explored(
    drawn: Draw, rankings: "Sequence[Candidates]", page_id: str, k: int, fixed: Collection[str]
) -> "tuple[Candidates, dict[str, Any]]":
    """The page, and what it keeps for learning; with documents that people fixed it is the floor's."""
    found, notes = rankings[-1] if fixed else rankings[0], drawn.noted()
    plain = found.take(range(min(k, len(found))))
    if drawn.control or drawn.arm is not None or not len(found):
        return plain, notes
    if fixed:
        return plain, notes | {"fallback": True}
    place = {str(id): at for at, id in enumerate(found.ids.tolist())}
    wanted = [place[str(id)] for id in rankings[1].ids[:k].tolist() if str(id) in place]
    among = list(dict.fromkeys((*range(min(WIDE * k, len(found))), *wanted)))
    where = {row: at for at, row in enumerate(among)}
    learner = PDGD(drawn.learning.ranker)
    learner.random = _random(page_id)
    safe = Safe(learner, _Order([where[row] for row in wanted]), floor=drawn.learning.settings.keep)
    page = safe.rank(np.asarray(found.columns["features"], np.float32)[among], k)
    shown = found.take([among[at] for at in page.shown.tolist()])
    if "scores" not in page.notes:  # no sample was safe: the floor's page, which teaches nothing
        return shown, notes | {"fallback": True}
    return shown, notes | _sample(page.notes["scores"], page.shown, page.notes["allowed"])


@cache
def warm() -> None:
    """Make a page and learn from it once, so that nobody waits for kernels to be compiled."""
    page = Safe(PDGD(LinearRanker()), _Order([0, 1]), floor=0.0).rank(np.eye(3), 2)
    learner = PDGD(LinearRanker())
    learner.rank(np.eye(3), 2)
    learner.learn(page, [0, 1])


def _sample(scores: Floats, shown: Ints, allowed: Any) -> dict[str, Any]:
    """The scores that were sampled from: of each shown document, and the sum of all others, in logarithms."""
    others = np.delete(scores, shown)
    rest = float(np.logaddexp.reduce(others)) if len(others) else None
    bits = [sum(1 << at for at, safe in enumerate(row) if safe) for row in allowed.tolist()]
    return {"scores": scores[shown].tolist(), "rest": rest, "allowed": bits}


def _random(page_id: str) -> np.random.Generator:
    """Draws depend on the page id alone, so that a log can be checked."""
    return np.random.default_rng(int(page_id, 16))
