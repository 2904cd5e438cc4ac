"""The pages of a learner from which it has not learned yet, with their clicks and features."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from rankloop.serve.events.desk_tables import learned_pages
from rankloop.serve.events.tables import clicks, feature_sets, page_features, pages
from rankloop.serve.events.writing import having_ids
from rankloop.serve.online.explore import pages_of
from rankloop.serve.online.steps import TaughtPage

__all__ = ["taught_pages"]

LATE = 600.0  # seconds before the newest page that was learned from, in which others may still arrive
DAY = 86_400.0


def taught_pages(
    connection: Connection,
    learner: Mapping[str, Any],
    until: float,
    names: Sequence[str],
    n: int,
    *,
    most: int = 0,
) -> list[TaughtPage]:
    """The oldest pages of people that were shown before `until` and were not learned from.

    Above `most` pages a day a person's pages do not count (0 is no limit); neither do pages with other
    features than `names`. Clicks on what people placed by hand are no clicks.
    """
    version, group = learner["version"], pages_of(learner["version"], learner["run"])
    newest = select(func.max(learned_pages.c.time)).where(learned_pages.c.version == version)
    last = connection.execute(newest).scalar()
    since = learner["started"] - LATE if last is None else max(learner["started"], last) - LATE
    done = select(learned_pages.c.page_id).where(learned_pages.c.page_id == pages.c.page_id).exists()
    statement = (
        select(
            pages.c.page_id,
            pages.c.user,
            pages.c.time,
            pages.c.randomness,
            pages.c.documents,
            page_features.c.matrix,
            feature_sets.c.names,
        )
        .join(page_features, page_features.c.page_id == pages.c.page_id)
        .join(feature_sets, feature_sets.c.features == pages.c.features)
        .where(pages.c.experiment == group, pages.c.time > since, pages.c.time <= until)
        .where(pages.c.bot.is_(False), ~done)
        .order_by(pages.c.time, pages.c.page_id)
        .limit(n)
    )
    rows = connection.execute(statement).all()
    clicked: dict[str, set[str]] = {}
    chosen = select(clicks.c.page_id, clicks.c.document)
    for page_id, document in having_ids(connection, chosen, clicks.c.page_id, [one[0] for one in rows]):
        clicked.setdefault(page_id, set()).add(document)
    seen = _counts(connection, version, {one.user for one in rows if one.user}, until) if most else {}
    found = []
    for page_id, user, time, randomness, documents, matrix, known in rows:
        drawn = json.loads(randomness or "{}")
        hits = clicked.get(page_id, set()) - set(drawn.get("hands", {}).get("placed", ()))
        ids = json.loads(documents)
        seen[user or ""] = seen.get(user or "", 0) + 1
        counts = tuple(json.loads(known)) == tuple(names) and (not most or not user or seen[user] <= most)
        rows_of = np.frombuffer(matrix, "<f4").reshape(len(ids), -1)
        hit = np.array([one in hits for one in ids], np.bool_)
        found.append(TaughtPage(page_id, user or "", time, drawn.get("online", {}), rows_of, hit, counts))
    return found


def _counts(connection: Connection, version: str, people: set[str], until: float) -> dict[str, int]:
    """How many pages of each person were learned from within a day."""
    statement = (
        select(learned_pages.c.person, func.count())
        .where(learned_pages.c.version == version, learned_pages.c.time > until - DAY)
        .group_by(learned_pages.c.person)
    )
    found = having_ids(connection, statement, learned_pages.c.person, list(people))
    return {person: int(number) for person, number in found}
