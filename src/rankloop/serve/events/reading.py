"""Windows of the store as click frames and data sets."""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, and_, select, true

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.filters import EARLY, LATE, HumanTraffic, human_traffic
from rankloop.serve.events.frames import frame
from rankloop.serve.events.influence import bounded
from rankloop.serve.events.tables import events, feature_sets, page_features, pages
from rankloop.serve.events.writing import having_ids

if TYPE_CHECKING:
    import polars

__all__ = ["click_frame", "dataset", "read_traffic", "within"]

_PAGE = (
    "page_id",
    "time",
    "query",
    "user",
    "origin",
    "ranker",
    "layout",
    "policy",
    "randomness",
    "documents",
)


def within(
    table: Table, since: float | None, until: float | None, layout: str | None = None
) -> ColumnElement[bool]:
    """Rows of pages shown from `since` on and before `until`."""
    wanted: list[ColumnElement[bool]] = [true()]
    if since is not None:
        wanted.append(table.c.time >= since)
    if until is not None:
        wanted.append(table.c.time < until)
    if layout is not None:
        wanted.append(table.c.layout == layout)
    return and_(*wanted)


def read_traffic(
    connection: Connection,
    since: float | None,
    until: float | None,
    layout: str | None,
    influence: InfluenceSettings | None,
    *,
    bots: bool,
    seed: int = 0,
) -> HumanTraffic:
    """The pages of a window within the caps of `influence`, and their events; with `bots`, all of them."""
    named = [pages.c[name] for name in (*_PAGE, "scores", "shown", "bot")]
    statement = (
        select(*named).where(within(pages, since, until, layout)).order_by(pages.c.time, pages.c.page_id)
    )
    shown = frame(connection, statement)
    happened = select(events.c.page_id, events.c.kind, events.c.document, events.c.value, events.c.time)
    if since is not None:
        happened = happened.where(events.c.time >= since - EARLY)
    if until is not None:
        happened = happened.where(events.c.time <= until + LATE)
    seen = frame(connection, happened)
    if bots:
        return HumanTraffic(shown, seen, {})
    found = human_traffic(shown, seen)
    if influence is None:
        return found
    kept, dropped = bounded(found.pages, influence, seed=seed)
    happened_there = found.events.join(kept.select("page_id"), on="page_id", how="semi")
    return HumanTraffic(kept, happened_there, found.dropped | dropped)


def click_frame(shown: "polars.DataFrame", happened: "polars.DataFrame") -> "polars.DataFrame":
    """One impression a row, as `ClickLog.from_frame` reads it.

    A page without a user is its own user. `dwell` is the longest stay, `conversion` the sum of the values of
    conversions; these two and `propensity` are columns where the window has any. Documents that people placed
    by hand are left out: their rank says nothing of a ranker. The others keep their ranks.
    """
    import polars as pl

    shown = shown.filter(pl.col("shown") > 0).with_row_index("page")
    rows = shown.select(
        "page",
        session="page_id",
        query="query",
        document=pl.col("documents").str.json_decode(pl.List(pl.String)),
        ranker="ranker",
        layout="layout",
        user=pl.coalesce("user", "page_id"),
        intervention=pl.Series(_interventions(shown), dtype=pl.String),
        timestamp="time",
    ).explode("document")
    lengths = shown["shown"].to_numpy()
    ends = np.cumsum(lengths)
    position = np.arange(1, len(rows) + 1) - np.repeat(ends - lengths, lengths)
    rows = rows.with_columns(
        position=pl.Series(position, dtype=pl.Int32),
        original_position=pl.Series(_original_positions(shown, position, lengths), dtype=pl.Int32),
        score=pl.Series(np.frombuffer(b"".join(shown["scores"].to_list()), "<f8")),
    )
    chances = _propensities(shown, lengths)
    if chances is not None:
        rows = rows.with_columns(propensity=pl.Series(chances))
    return _without_hands(_with_events(rows, shown, happened), shown).drop("page")


def _without_hands(rows: "polars.DataFrame", shown: "polars.DataFrame") -> "polars.DataFrame":
    """The impressions that no pin and no boost put where they are."""
    import polars as pl

    found = _randomness(shown, "hands")
    placed = [(index, one) for index, drawn in found.items() for one in drawn["hands"]["placed"]]
    if not placed:
        return rows
    by_hand = pl.DataFrame(placed, schema={"page": rows["page"].dtype, "document": pl.String}, orient="row")
    return rows.join(by_hand, on=["page", "document"], how="anti", maintain_order="left")


def dataset(
    connection: Connection,
    since: float | None,
    until: float | None,
    layout: str | None,
    having: Sequence[str] = (),
    among: Collection[str] | None = None,
) -> RankingDataset:
    """Per query every document shown in the window, or on some pages of it, with the features last shown.

    Labels are 0. Columns are those of the newest feature set with all names of `having`; a page that lacks
    one has nan there, and one that has none of them is left out.
    """
    import polars as pl

    named = [pages.c[name] for name in ("page_id", "query", "features", "documents", "shown")]
    statement = select(*named).where(within(pages, since, until, layout), pages.c.shown > 0)
    shown = frame(connection, statement.order_by(pages.c.time, pages.c.page_id))
    if among is not None:
        shown = shown.filter(pl.col("page_id").is_in(list(among)))
    if not shown.height:
        raise ValueError("no page was shown in this window; widen it, or wait for people to search")
    named_sets = _feature_names(connection, shown["features"].unique().to_list())
    names = _columns(shown["features"].to_list(), named_sets, having)
    alike = [key for key, one in named_sets.items() if not set(one).isdisjoint(names)]
    shown = shown.filter(pl.col("features").is_in(alike))
    last = (
        shown.with_columns(
            document=pl.col("documents").str.json_decode(pl.List(pl.String)),
            row=pl.int_ranges(pl.col("shown")),
        )
        .drop("documents", "shown")
        .explode("document", "row")
        .unique(["query", "document"], keep="last", maintain_order=True)
        .sort("query", maintain_order=True)
    )
    return RankingDataset(
        _last_features(connection, last, named_sets, names),
        np.zeros(last.height, np.float32),
        np.array(last["query"].to_list(), np.str_),
        docid=np.array(last["document"].to_list(), np.str_),
        feature_names=names,
    )


def _randomness(shown: "polars.DataFrame", key: str) -> dict[int, dict[str, Any]]:
    """The randomness of the pages that has `key`, by index of the page."""
    texts = enumerate(shown["randomness"].to_list())
    found = {index: json.loads(text) for index, text in texts if text and f'"{key}":' in text}
    return {index: drawn for index, drawn in found.items() if key in drawn}


def _interventions(shown: "polars.DataFrame") -> list[str]:
    from rankloop.clicks.intervention import NONE, Swap

    names = [NONE] * shown.height
    for index, drawn in _randomness(shown, "swap").items():
        names[index] = str(Swap(*drawn["swap"]))
    return names


def _original_positions(shown: "polars.DataFrame", position: Ints, lengths: Ints) -> Ints:
    original = position.copy()
    starts = np.cumsum(lengths) - lengths
    for index, drawn in _randomness(shown, "swap").items():
        low, high = drawn["swap"]
        if drawn["swapped"]:
            original[starts[index] + low - 1], original[starts[index] + high - 1] = high, low
    return original


def _propensities(shown: "polars.DataFrame", lengths: Ints) -> Floats | None:
    found = _randomness(shown, "propensity")
    if not found:
        return None
    chances = np.ones(int(lengths.sum()))
    starts = np.cumsum(lengths) - lengths
    for index, drawn in found.items():
        chances[starts[index] : starts[index] + lengths[index]] = drawn["propensity"]
    return chances


def _with_events(
    rows: "polars.DataFrame", shown: "polars.DataFrame", happened: "polars.DataFrame"
) -> "polars.DataFrame":
    import polars as pl

    kind, value = pl.col("kind"), pl.col("value")
    sums = (
        happened.join(shown.select("page", "page_id"), on="page_id")
        .group_by("page", "document")
        .agg(
            click=(kind == "click").any().cast(pl.Int8),
            dwell=value.filter(kind == "dwell").max(),
            conversion=value.fill_null(1.0).filter(kind == "conversion").sum(),
        )
    )
    joined = rows.join(sums, on=["page", "document"], how="left", maintain_order="left").with_columns(
        pl.col("click").fill_null(0), pl.col("conversion").fill_null(0.0)
    )
    kinds = set(happened["kind"].unique())
    return joined.drop(name for name in ("dwell", "conversion") if name not in kinds)


def _feature_names(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found = connection.execute(select(feature_sets).where(feature_sets.c.features.in_(keys)))
    return {key: tuple(json.loads(names)) for key, names in found}


def _columns(
    keys: Sequence[str], named_sets: dict[str, tuple[str, ...]], having: Sequence[str]
) -> tuple[str, ...]:
    """The newest feature set that has all of these names, or just the newest."""
    fitting = (key for key in reversed(keys) if set(having) <= set(named_sets[key]))
    return named_sets[next(fitting, keys[-1])]


def _last_features(
    connection: Connection,
    last: "polars.DataFrame",
    named_sets: dict[str, tuple[str, ...]],
    names: tuple[str, ...],
) -> Singles:
    X = np.full((last.height, len(names)), np.nan, np.float32)
    columns = {
        key: [(one.index(name), at) for at, name in enumerate(names) if name in one]
        for key, one in named_sets.items()
    }
    wanted: dict[str, list[tuple[int, int]]] = {}
    keys: dict[str, str] = {}
    for at, (page, key, row) in enumerate(last.select("page_id", "features", "row").iter_rows()):
        wanted.setdefault(page, []).append((at, row))
        keys[page] = key
    statement = select(page_features.c.page_id, page_features.c.matrix)
    for page, matrix in having_ids(connection, statement, page_features.c.page_id, wanted, yield_per=1000):
        served = np.frombuffer(matrix, "<f4").reshape(-1, len(named_sets[keys[page]]))
        at, row = np.array(wanted[page]).T
        old, new = np.array(columns[keys[page]], np.int64).reshape(-1, 2).T
        X[np.ix_(at, new)] = served[np.ix_(row, old)]
    return X
