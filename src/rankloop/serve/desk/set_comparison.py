"""Two versions over a set of queries: by judgments where there are some, by clicks where there are not."""

import json
import secrets
import time
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import insert, select

from rankloop._ratio import ratio
from rankloop.metrics.results.mean import mean_of
from rankloop.serve.desk.click_values import click_values, newest_curve
from rankloop.serve.desk.live_scores import Score, live_scores
from rankloop.serve.desk.pools import pools_of
from rankloop.serve.desk.query_sets import QuerySet
from rankloop.serve.desk.rankings import DEPTH, LONGEST, Rankings
from rankloop.serve.events.judgments import averaged
from rankloop.serve.events.tables import snapshots

if TYPE_CHECKING:
    from rankloop.search import Deadline
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry

__all__ = ["QueryChange", "SetComparison", "compare_over_set", "keep_snapshot", "kept_snapshot"]

TIE = 0.001  # of NDCG


@dataclass(frozen=True)
class QueryChange:
    """A query by both versions; `by` is "judgments", "clicks", or empty where nothing is known.

    `share` is that of the first ten of both which are judged, or which people saw where clicks compare;
    `people` is how many clicked or looked, `moved` how many of the first ten are not the same.
    """

    query: str
    weight: float
    by: str
    a: float | None
    b: float | None
    share: float
    people: int
    moved: int

    @property
    def change(self) -> float | None:
        return None if self.a is None or self.b is None else self.b - self.a


@dataclass(frozen=True)
class SetComparison:
    """What a change of version does to a set of queries, the largest losses first."""

    set: str
    a: str
    b: str
    time: float
    judged: Score
    clicked: Score
    corrected: bool
    waiting: int
    changes: tuple[QueryChange, ...]

    @property
    def known(self) -> list[QueryChange]:
        """The queries of which something is known."""
        return [one for one in self.changes if one.change is not None]

    def count(self, by: str) -> int:
        """The number of queries that are compared by "judgments" or "clicks"."""
        return sum(one.by == by for one in self.known)

    @property
    def worse(self) -> list[QueryChange]:
        """The queries that lose, the largest loss first."""
        return [one for one in self.known if (one.change or 0) < -TIE]

    @property
    def better(self) -> list[QueryChange]:
        """The queries that gain, the largest gain first."""
        return [one for one in reversed(self.known) if (one.change or 0) > TIE]

    @property
    def wins(self) -> int:
        return len(self.better)

    @property
    def losses(self) -> int:
        return len(self.worse)

    @property
    def ties(self) -> int:
        return len(self.known) - self.wins - self.losses

    @property
    def rest(self) -> list[QueryChange]:
        """The queries without a change, and those of which nothing is known."""
        moved = {one.query for one in (*self.worse, *self.better)}
        return [one for one in self.changes if one.query not in moved]

    @property
    def notes(self) -> list[str]:
        """Which interval rests on a few queries, in sentences."""
        return [
            f"A few queries make most of the change by {name}: its interval is rough, and may be narrow."
            for name, one in self._ways.items()
            if one.known and not one.endless and self._on_few_queries(name)
        ]

    def _on_few_queries(self, by: str) -> bool:
        found = [(one.change or 0.0, one.weight) for one in self.known if one.by == by]
        changes, weights = np.array(found, np.float64).reshape(-1, 2).T
        return mean_of(changes, weights, usual=0.0).rough

    @property
    def _ways(self) -> dict[str, Score]:
        return {"judgments": self.judged, "clicks": self.clicked}

    def lost(self, max_loss: float) -> list[str]:
        """By which evidence the mean loss is too large, in sentences."""
        return [
            f"NDCG@10 by {name} changes by {one.value:+.4f} "
            + ("on too few queries for an interval" if one.endless else f"[{one.low:+.4f}, {one.high:+.4f}]")
            for name, one in self._ways.items()
            if one.known and one.value < -max_loss
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        more = {name: getattr(self, name) for name in ("wins", "losses", "ties", "notes")}
        made: dict[str, Any] = json.loads(json.dumps(asdict(self) | more).replace("NaN", "null"))
        return made

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "SetComparison":
        """What `to_dict` made."""
        fields = {name: saved[name] for name in cls.__dataclass_fields__}
        for name in ("judged", "clicked"):
            parts = saved[name].items()
            fields[name] = Score(**{part: np.nan if one is None else one for part, one in parts})
        return cls(**{**fields, "changes": tuple(QueryChange(**one) for one in saved["changes"])})


def compare_over_set(
    store: "Store",
    registry: "Registry",
    rankings: Rankings,
    chosen: QuerySet,
    a: str,
    b: str,
    deadline: "Deadline",
) -> SetComparison:
    """Compare version `b` with `a`; queries that are not ranked by the deadline wait for the next call."""
    queries = [one.query for one in chosen.queries]
    tops = rankings.tops((a, b), queries, deadline, LONGEST)
    pools = pools_of(chosen.queries, tops, averaged(store.ratings(queries)).to_dict(), DEPTH)
    live = live_scores(pools)
    expected = live.expected()
    graded = np.asarray((~np.isnan(pools.grades)).any(axis=1))
    unjudged = [query for query, has in zip(pools.queries, graded, strict=True) if not has]
    curve = newest_curve(registry.versions())
    values = click_values(store, unjudged, curve)
    changes = []
    for at, query in enumerate(pools.queries):
        left, right = tops[query]
        share, by = float(live.judged[at]), ""
        scores: tuple[float | None, float | None] = (None, None)
        if graded[at] and not np.isnan(expected[at]).any():
            by, scores = "judgments", (float(expected[at, 0]), float(expected[at, 1]))
        elif query in values.attraction:
            found = values.ndcg(query, left, DEPTH), values.ndcg(query, right, DEPTH)
            by, scores = ("", (None, None)) if None in found else ("clicks", found)
            both = {*left[:DEPTH], *right[:DEPTH]}
            share = len(both & values.attraction[query].keys()) / max(len(both), 1)
        pairs = zip_longest(left[:DEPTH], right[:DEPTH])
        moved, people = sum(one != other for one, other in pairs), values.people.get(query, 0)
        weight = float(pools.weights[at])
        changes.append(QueryChange(query, weight, by, scores[0], scores[1], share, people, moved))
    changes.sort(key=lambda one: (one.change is None, one.change or 0.0, one.query))
    part = graded & ~np.isnan(expected).any(axis=1)
    judged = type(live)(live.drawn[:, part], live.weights[part], live.judged[part]).difference()
    waiting = len(queries) - len(tops)
    clicked = _by_clicks(changes)
    return SetComparison(
        chosen.address, a, b, time.time(), judged, clicked, curve is not None, waiting, tuple(changes)
    )


def _by_clicks(changes: list[QueryChange]) -> Score:
    """The mean change of the queries that clicks compare, with its interval over queries."""
    found = [(one.weight, one.change) for one in changes if one.by == "clicks" and one.change is not None]
    if not found:
        return Score(np.nan, np.nan, np.nan)
    weights, values = np.array(found).T
    mean = ratio(weights * values, weights, kind="student")
    return Score(mean.value, max(mean.low, -1.0), min(mean.high, 1.0))


def keep_snapshot(store: "Store", found: SetComparison, author: str) -> str:
    """Keep a comparison as it is now; gives the id of its page."""
    id = secrets.token_urlsafe(9)
    row = {"id": id, "time": time.time(), "author": author, "title": f"{found.b} against {found.a}"}
    with store.writing() as connection:
        connection.execute(insert(snapshots), {**row, "content": json.dumps(found.to_dict())})
    return id


def kept_snapshot(store: "Store", id: str) -> tuple[SetComparison, str, float]:
    """A comparison that was kept, who kept it, and when."""
    with store.reading() as connection:
        row = connection.execute(select(snapshots).where(snapshots.c.id == id)).mappings().first()
    if row is None:
        raise LookupError(f"there is no snapshot {id[:40]!r}")
    return SetComparison.from_dict(json.loads(row["content"])), row["author"], row["time"]
