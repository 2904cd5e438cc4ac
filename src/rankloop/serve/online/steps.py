"""What a learner takes from pages: steps of weights, or counts of arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rankloop._arrays import Bools, Singles
from rankloop.online import PDGD, Ranking
from rankloop.serve.online.explore import bandit_of

if TYPE_CHECKING:
    from rankloop.rankers.linear_ranker import LinearRanker
    from rankloop.serve.models.live import Learning

__all__ = ["TaughtPage", "first_state", "learned", "with_weights"]


@dataclass(frozen=True, eq=False)
class TaughtPage:
    """A page with its clicks, and what was drawn for it; one that does not `count` teaches nothing."""

    page_id: str
    person: str
    time: float
    drawn: Mapping[str, Any]
    features: Singles
    clicks: Bools
    counts: bool = True


def first_state(learning: "Learning") -> dict[str, Any]:
    """The state in which a learner begins: the weights in the file of its version, or no counts."""
    settings = learning.settings
    if settings.chooses:
        none = [0.0] * len(settings.arms)
        return {"pages": 0, "served": none, "rewards": none}
    return {"pages": 0, "weights": np.asarray(learning.first.coef_, np.float64).tolist()}


def learned(learning: "Learning", pages: Sequence[TaughtPage]) -> dict[str, Any]:
    """The state after some pages; those of the floor, and those without a sample, teach nothing."""
    taught = [one for one in pages if not one.drawn.get("control")]
    if learning.settings.chooses:
        bandit = bandit_of(learning)
        arms = list(learning.settings.arms)
        taught = [one for one in taught if one.drawn.get("arm") in arms and len(one.clicks)]
        for one in taught:
            page = Ranking(one.features, np.arange(len(one.clicks)), {"arm": arms.index(one.drawn["arm"])})
            bandit.learn(page, one.clicks)
        counts = {"served": bandit.served.tolist(), "rewards": bandit.rewards.tolist()}
        return {"pages": learning.state["pages"] + len(taught), **counts}
    learner = PDGD(learning.ranker, learning_rate=learning.settings.learning_rate)
    taught = [one for one in taught if "scores" in one.drawn]
    for one in taught:
        before = learner.model.parameters.copy()
        learner.learn(_as_shown(one), one.clicks[: len(one.drawn["scores"])])
        if not np.isfinite(learner.model.parameters).all():
            learner.model.parameters = before
    weights = learner.model.parameters.tolist()
    return {"pages": learning.state["pages"] + len(taught), "weights": weights}


def _as_shown(page: TaughtPage) -> Ranking:
    """The page as PDGD sampled it; all documents that were not shown are one, with their sum."""
    scores, rest = list(page.drawn["scores"]), page.drawn["rest"]
    places = len(scores)
    rows = page.features[:places]
    if rest is not None:
        scores.append(rest)
        rows = np.vstack([rows, np.zeros((1, rows.shape[1]), np.float32)])
    bits = page.drawn["allowed"]
    allowed = np.array([[bool(row >> at & 1) for at in range(places)] for row in bits])
    notes = {"by": PDGD.name, "scores": np.array(scores), "allowed": allowed}
    return Ranking(np.ascontiguousarray(rows, np.float32), np.arange(places), notes)


def with_weights(ranker: "LinearRanker", weights: Sequence[float]) -> "LinearRanker":
    """The same ranker with other weights."""
    learner = PDGD(ranker)
    learner.model.parameters = np.array(weights, np.float64)
    made: Any = learner.ranker
    if hasattr(ranker, "feature_names_in_"):
        made.feature_names_in_ = ranker.feature_names_in_
    return cast("LinearRanker", made)
