"""The features of pages shown lately: what the dashboard looks at."""

import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import feature_sets, page_features, pages

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["sampled_features"]


def sampled_features(
    store: "Store",
    names: tuple[str, ...],
    most: int,
    *,
    since: float | None = None,
    until: float | None = None,
    ranker: str | None = None,
) -> list[NDArray[np.float32]]:
    """The last pages of a window that people saw with exactly these features: a row per document each."""
    asked = (
        select(page_features.c.matrix)
        .join(pages, pages.c.page_id == page_features.c.page_id)
        .join(feature_sets, feature_sets.c.features == pages.c.features)
        .where(
            within(pages, since, until),
            pages.c.bot.is_(False),
            pages.c.shown > 0,
            feature_sets.c.names == json.dumps(names),
        )
        .order_by(pages.c.time.desc())
        .limit(most)
    )
    if ranker is not None:
        asked = asked.where(pages.c.ranker == ranker)
    with store.reading() as connection:
        found = connection.execute(asked).scalars().all()
    return [np.frombuffer(one, "<f4").reshape(-1, len(names)) for one in found]
