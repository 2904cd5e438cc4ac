"""What clicks say of documents, corrected for the ranks at which they were shown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select

from rankloop.lists import discount
from rankloop.serve.events.tables import clicks, pages
from rankloop.serve.events.writing import having_ids

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Version

__all__ = ["ClickValues", "click_values", "newest_curve"]

MOST = 500  # people whose last page of a query is read


@dataclass(frozen=True)
class ClickValues:
    """By query: the attraction of each shown document, from 0 to 1, and the people who saw a page."""

    attraction: Mapping[str, Mapping[str, float]]
    people: Mapping[str, int]

    def ndcg(self, query: str, shown: Sequence[str], k: int) -> float | None:
        """The NDCG of a ranking with attraction as gain; None where nothing was clicked.

        Documents that were never shown are left out, and those below them move up: nothing is known of them.
        """
        gains = self.attraction.get(query, {})
        best = sorted(gains.values(), reverse=True)[:k]
        ideal = float(np.dot(best, discount(np.arange(1, len(best) + 1))))
        if ideal <= 0:
            return None
        worth = [gains[one] for one in shown if one in gains][:k]
        return float(np.dot(worth, discount(np.arange(1, len(worth) + 1)))) / ideal


def click_values(store: "Store", queries: Sequence[str], curve: Sequence[float] | None) -> ClickValues:
    """Clicks over expected examinations of each document, on the last page of each person for a query.

    `curve` says how likely each rank is examined; without one every rank counts as seen.
    """
    shown, clicked = _read(store, queries)
    seen: dict[str, dict[str, float]] = {}
    hits: dict[str, dict[str, float]] = {}
    people: dict[str, int] = {}
    for page_id, query, documents, drawn in shown:
        placed = json.loads(drawn or "{}").get("hands", {}).get("placed", ())
        people[query] = people.get(query, 0) + 1
        counts, found = seen.setdefault(query, {}), hits.setdefault(query, {})
        for at, document in enumerate(json.loads(documents)):
            if document in placed:  # people put it there
                continue
            examined = 1.0 if curve is None else float(curve[min(at, len(curve) - 1)])
            counts[document] = counts.get(document, 0.0) + examined
            found[document] = found.get(document, 0.0) + ((page_id, document) in clicked)
    attraction = {
        query: {one: min(hits[query][one] / max(count, 1e-9), 1.0) for one, count in counts.items()}
        for query, counts in seen.items()
    }
    return ClickValues(attraction, people)


def _read(store: "Store", queries: Sequence[str]) -> tuple[list[Any], set[tuple[str, str]]]:
    """The last page of each person for each query, and what was clicked on those."""
    person = func.coalesce(pages.c.user, pages.c.page_id)
    age = func.row_number().over(partition_by=(pages.c.query, person), order_by=pages.c.time.desc())
    columns = (pages.c.page_id, pages.c.query, pages.c.documents, pages.c.randomness, pages.c.time)
    named = select(*columns, age.label("age"))
    statement = named.where(pages.c.bot.is_(False), pages.c.shown > 0)
    with store.reading() as connection:
        rows = [
            one for one in having_ids(connection, statement, pages.c.query, list(queries)) if one.age == 1
        ]
        rows.sort(key=lambda one: -one.time)
        kept, number = [], dict.fromkeys(queries, 0)
        for one in rows:
            if number[one.query] < MOST:
                number[one.query] += 1
                kept.append((one.page_id, one.query, one.documents, one.randomness))
        chosen = select(clicks.c.page_id, clicks.c.document)
        ids = [one[0] for one in kept]
        clicked = {
            (page, document) for page, document in having_ids(connection, chosen, clicks.c.page_id, ids)
        }
    return kept, clicked


def newest_curve(versions: "Sequence[Version]") -> list[float] | None:
    """How likely each rank is examined, as the newest learned version knows it."""
    for one in reversed(versions):
        saved = one.lineage.get("propensity")
        if isinstance(saved, Mapping) and saved.get("values"):
            return [float(value) for value in saved["values"]]
    return None
