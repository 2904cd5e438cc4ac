"""What a learning run reads: the clicks of a window, the documents, and propensity curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import select

from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity import Propensity, drift, harvest, swap_intervention
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import pages
from rankloop.serve.learning.curve import shrunk

__all__ = ["UBI", "Curves", "Window", "curves_of", "read_window", "searched"]

UBI = "ubi"  # layouts of pages that collectors of other front ends sent begin with it
UNSURE = 10.0  # ratio of the ends of an interval, above which a curve gets a warning
HALVES = 2000  # pages that each half needs to be compared
MOST_LAYOUTS = 20  # that get a curve: callers name them, and could name any number


@dataclass(frozen=True, eq=False)
class Window:
    """The pages of a window down to `depth`, and every document on them with its features as served."""

    log: ClickLog
    data: RankingDataset
    since: float | None
    until: float
    depth: int
    others: int = 0
    """Pages that were left out because their documents are described by other features."""

    @property
    def clicks(self) -> int:
        return int(self.log.click.sum())

    @property
    def clicked_queries(self) -> int:
        """Queries with at least one click."""
        clicked = np.add.reduceat(self.log.click.astype(np.int64), self.log.offsets[:-1]) > 0
        return len(np.unique(self.log.page_query.code[clicked]))

    def to_dict(self) -> dict[str, Any]:
        """The window and how much is in it."""
        return {
            "since": self.since,
            "until": self.until,
            "pages": self.log.n_pages,
            "clicks": self.clicks,
            "queries": self.log.n_queries,
            "documents": self.data.n_documents,
            "depth": self.depth,
        }


@dataclass(frozen=True, eq=False)
class Curves:
    """One curve per layout with swapped pages, and reasons not to trust them."""

    by_layout: dict[str, Propensity] = field(default_factory=dict)
    alarms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def given(self) -> "Propensity | dict[str, Propensity] | None":
        """The argument of corrections: one curve, one per layout, or None."""
        if len(self.by_layout) == 1:
            return next(iter(self.by_layout.values()))
        return self.by_layout or None


def read_window(
    store: Store,
    *,
    since: float | None,
    until: float,
    depth: int,
    having: Sequence[str] = (),
    influence: InfluenceSettings | None = None,
    seed: int = 0,
) -> Window | None:
    """The window of a store; None where nobody searched. Clicks below rank `depth` are left out.

    Pages without the features `having`, such as candidates of another engine, are left out too, and of one
    person or address range what is beyond `influence`: features also come from the pages that are left.
    """
    if not searched(store, since=since, until=until):
        return None
    log = ClickLog.from_store(store, since=since, until=until, depth=depth, influence=influence, seed=seed)
    if not len(log):
        return None
    data = store.dataset(since=since, until=until, having=having, among=log.sessions.tolist())
    known = np.minimum.reduceat(log.rows(data, missing="mark"), log.offsets[:-1]) >= 0
    kept = log if known.all() else log.select(known)
    return Window(kept, data, since, until, depth, int(np.sum(~known))) if len(kept) else None


def searched(store: Store, *, since: float | None, until: float) -> bool:
    """Whether anybody was shown anything in a window."""
    statement = select(pages.c.page_id).where(pages.c.time < until, pages.c.shown > 0, pages.c.bot.is_(False))
    if since is not None:
        statement = statement.where(pages.c.time >= since)
    with store.reading() as connection:
        return connection.execute(statement.limit(1)).first() is not None


def curves_of(log: ClickLog, *, seed: int = 0) -> tuple[Curves, ClickLog]:
    """The propensity curve of each layout, and the pages of layouts that have one.

    Curves come from swapped pages in the log. Without any there is no curve, and an alarm says so. Pages
    that came as UBI are never swapped: their curves are harvested from documents seen at several ranks.
    The alarm of a curve that changed looks at the layout with most pages, which no caller can outnumber.
    """
    names = ["page"] if log.page_layout is None else _present(log)
    found: dict[str, Propensity] = {}
    notes: list[str] = []
    if len(names) > MOST_LAYOUTS:
        notes.append(f"of {len(names)} layouts, the {MOST_LAYOUTS} with most pages are looked at")
    for name in names[:MOST_LAYOUTS]:
        try:
            estimator = harvest if _is_ubi(name) else swap_intervention
            found[name] = _curve(log if len(names) == 1 else _of_layout(log, name), estimator, seed)
        except ValueError as error:
            notes.append(f"layout {name!r} has no curve: {error}")
    if not found:
        alarm = "there are no swapped pages, so the propensity curve is learned with the ranker"
        return Curves({}, (alarm,), tuple(notes)), log
    own = [name for name in found if not _is_ubi(name)]
    kept = log
    if len(found) < len(names):
        notes.append(f"learned from pages of {', '.join(found)} only")
        kept = ClickLog.concat([_of_layout(log, name) for name in found])
    notes += [one for name, curve in found.items() for one in _doubts(name, curve)]
    if own:
        alarms = _changed(kept if len(found) == 1 else _of_layout(kept, own[0]), seed)
    else:
        alarms = ["there are no swapped pages, so the curves are harvested from pages of UBI alone"]
    return Curves(found, tuple(alarms), tuple(notes)), kept


def _present(log: ClickLog) -> list[str]:
    """The names of the layouts, those with most pages first."""
    assert log.page_layout is not None
    codes, pages = np.unique(log.page_layout.code, return_counts=True)
    return [str(name) for name in log.page_layout.table[codes[np.argsort(-pages, kind="stable")]]]


def _of_layout(log: ClickLog, name: str) -> ClickLog:
    assert log.page_layout is not None
    return log.select(log.page_layout.table.astype(np.str_)[log.page_layout.code] == name)


def _is_ubi(layout: str) -> bool:
    return layout == UBI or layout.startswith(f"{UBI}/")


def _curve(log: ClickLog, estimator: Callable[..., Propensity], seed: int) -> Propensity:
    """As deep as the log determines ranks, and shrunk towards a power of the rank."""
    deepest = log.n_positions
    for depth in range(deepest, 1, -1):
        try:
            found = estimator(log, depth=depth, seed=seed)
        except ValueError:
            if depth == 2:
                raise
        else:
            return shrunk(found, depth=deepest)
    raise ValueError("all pages have one result; a curve needs two ranks")


def _doubts(name: str, curve: Propensity) -> list[str]:
    """Notes only: the bounds of every estimate include the uncertainty of the curve."""
    factor = float(np.max(curve.high / np.maximum(curve.low, 1e-300)))
    unsure = [f"it is uncertain by a factor of {factor:.0f}; swap more pages"] if factor > UNSURE else []
    return [f"the curve of layout {name!r}: {one}" for one in (*unsure, *curve.warnings)]


def _changed(log: ClickLog, seed: int) -> list[str]:
    """Whether the first and the last half of the pages have the same curve."""
    if log.n_pages < 2 * HALVES or log.timestamp is None:
        return []
    order = np.argsort(log.timestamp[log.offsets[:-1]], kind="stable")
    halves = np.array_split(order, 2)
    try:
        first, last = (swap_intervention(log.select(np.sort(half)), seed=seed) for half in halves)
        found = drift(first, last)
    except ValueError:  # a half without swaps at every rank cannot be compared
        return []
    return (
        [] if found.holds else [f"the propensity curve changed within the window (p = {found.p_value:.2g})"]
    )
