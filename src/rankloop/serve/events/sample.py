"""The features of the last pages, for the dashboard."""

import json
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select

from rankloop._arrays import Singles
from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import feature_sets, page_features, pages

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["sampled_features"]

AGAIN = 10  # pages that are read for each that is needed: people come back, and queries too


def sampled_features(
    store: "Store",
    names: tuple[str, ...],
    most: int,
    *,
    since: float | None = None,
    until: float | None = None,
    ranker: str | None = None,
) -> list[Singles]:
    """The last `most` pages of a window with exactly these features: each a row per document.

    Each person and each query counts once, with the last page: pages of one of them are alike.
    """
    statement = (
        select(page_features.c.matrix, pages.c.user, pages.c.query)
        .join(pages, pages.c.page_id == page_features.c.page_id)
        .join(feature_sets, feature_sets.c.features == pages.c.features)
        .where(
            within(pages, since, until),
            pages.c.bot.is_(False),
            pages.c.shown > 0,
            feature_sets.c.names == json.dumps(names),
        )
        .order_by(pages.c.time.desc())
        .limit(AGAIN * most)
    )
    if ranker is not None:
        statement = statement.where(pages.c.ranker == ranker)
    with store.reading() as connection:
        found = connection.execute(statement).all()
    people: set[str] = set()
    queries: set[str] = set()
    chosen = []
    for matrix, user, query in found:
        if user in people or query in queries:
            continue
        people |= {user} if user is not None else set()
        queries.add(query)
        chosen.append(np.frombuffer(matrix, "<f4").reshape(-1, len(names)))
    return chosen[:most]
