"""A version that learns while it serves, registered like any other."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.online import PDGD
from rankloop.rankers.linear_ranker import LinearRanker
from rankloop.search import Pipeline, first
from rankloop.search.ranked import Ranked
from rankloop.serve.answer import query_of, run_stages
from rankloop.serve.events.tables import pages
from rankloop.serve.models.live import logged_features

if TYPE_CHECKING:
    from rankloop.search import Candidates, Features, Searchable
    from rankloop.serve.config import Config
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry
    from rankloop.serve.online.settings import OnlineSettings

__all__ = ["register_learner"]

QUERIES = 100  # of the log, whose results the first weights imitate
DEEP = 30  # results of each
FEWEST = 3  # queries
SHARP = 3.0  # the spread of scores on a list at the start: how little is explored
RIDGE = 1.0


def register_learner(
    registry: "Registry", index: "Searchable", config: "Config", settings: "OnlineSettings"
) -> str:
    """Add a version that learns while it serves; it serves nobody until it is promoted.

    "pdgd" starts with weights that imitate the floor on the last queries; a bandit starts without counts.
    """
    for one in settings.versions:
        if registry.version(one).lineage.get("online"):
            raise ValueError(f"{one} learns while it serves; name versions that do not change")
    floor = registry.load(settings.floor, index)
    search = floor if settings.chooses else _imitation(registry.store, index, config, floor)
    name = f"{settings.learner} above {settings.floor}"
    return registry.register(
        search, lineage={"name": name, "made": "learns while it serves", "online": settings.to_dict()}
    )


def _imitation(store: "Store", index: "Searchable", config: "Config", floor: Pipeline) -> Pipeline:
    """The floor's candidates, ranked by weights of the logged features that imitate its scores."""
    features = logged_features(index, config)
    lists = []
    for query in _queries(store, config):
        found = run_stages(floor, query_of(query, index, {})).found
        found = found.take(range(min(DEEP, len(found))))
        if len(found) > 1 and np.ptp(found.scores) > 0:
            lists.append((_matrix(features, found), found.scores))
    if len(lists) < FEWEST:
        raise ValueError(
            f"pdgd starts from what the floor shows for {FEWEST} queries or more, got {len(lists)}; "
            "search a few times first, or name examples in the config"
        )
    rows = np.vstack([rows for rows, _ in lists])
    number = np.repeat(np.arange(len(lists)), [len(rows) for rows, _ in lists])
    data = RankingDataset(rows, np.zeros(len(rows)), number, feature_names=features.names)
    learner = PDGD(LinearRanker(), features=data)
    learner.model.parameters = _weights(learner.model, lists)
    ranker: Any = learner.ranker
    remembered = () if floor.remembered is None else (floor.remembered,)
    return Pipeline((floor.stages[0], features, Ranked(ranker), *remembered, first(config.k)))


def _queries(store: "Store", config: "Config") -> list[str]:
    """The last queries of people, and the examples of the config."""
    last = func.max(pages.c.time)
    statement = (
        select(pages.c.query)
        .where(pages.c.bot.is_(False), pages.c.query != "")
        .group_by(pages.c.query)
        .order_by(last.desc(), pages.c.query)
        .limit(QUERIES)
    )
    with store.reading() as connection:
        found = [str(one) for one in connection.execute(statement).scalars()]
    return list(dict.fromkeys((*found, *config.examples)))


def _matrix(features: "Features", found: "Candidates") -> Any:
    return np.asarray(features.matrix(found), np.float32)


def _weights(model: Any, lists: list[tuple[Any, Floats]]) -> Floats:
    """Ridge regression of each list's standardised scores on its features, both around their mean."""
    parts, targets = [], []
    for rows, scores in lists:
        scaled = np.nan_to_num((rows.astype(np.float64) - model.mean) / model.scale)
        parts.append(scaled - scaled.mean(axis=0))
        targets.append((scores - scores.mean()) / scores.std())
    X, y = np.vstack(parts), np.concatenate(targets)
    weights = np.linalg.solve(X.T @ X + RIDGE * np.eye(X.shape[1]), X.T @ y)
    spread = float(np.std(X @ weights))
    made: Floats = weights * (SHARP / spread if spread > 0 else 1.0)
    return made
