"""The event store as a folder of Parquet files, for notebooks and other tools."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, select

from rankloop._atomic import replacing_folder
from rankloop.serve.events.frames import frames, lists
from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import events, feature_sets, judgments, page_features, pages

if TYPE_CHECKING:
    import polars

    from rankloop.serve.events.store import Store

__all__ = ["export"]

_AT_ONCE = 50_000  # rows of a file


def export(
    store: "Store", folder: str | Path, *, since: float | None = None, until: float | None = None
) -> None:
    """Write what was shown and done in a window, whole or not at all.

    `pages-*.parquet` has a row per page with lists of documents, scores and features (row by row; the names
    of a feature set are in `feature_sets-*.parquet`), `events-*.parquet` all events, `clicks.parquet` the
    impressions that `rankloop.read_clicks` reads (crawlers left out), `judgments-*.parquet` all grades. Only
    their owner can read the files.
    """
    if Path(folder).exists():
        raise ValueError(f"{folder} exists; choose another folder")
    with replacing_folder(folder) as beside:
        with store.reading() as connection:
            shown = (
                select(pages, page_features.c.matrix)
                .join(page_features, page_features.c.page_id == pages.c.page_id)
                .where(within(pages, since, until))
                .order_by(pages.c.time)
            )
            _write(connection, shown, beside, "pages", _with_lists)
            _write(connection, select(events).where(within(events, since, until)), beside, "events")
            _write(connection, select(feature_sets), beside, "feature_sets", _with_names)
            _write(connection, select(judgments), beside, "judgments")
        store.click_frame(since=since, until=until, influence=None).write_parquet(beside / "clicks.parquet")
        for path in beside.iterdir():
            path.chmod(0o600)  # people's searches; the folder is private until it is whole
    Path(folder).chmod(0o700)


def _write(
    connection: Connection,
    statement: Select[Any],
    folder: Path,
    name: str,
    change: "Callable[[polars.DataFrame], polars.DataFrame]" = lambda frame: frame,
) -> None:
    """Files of `_AT_ONCE` rows; the first is written even without rows."""
    for number, frame in enumerate(frames(connection, statement, _AT_ONCE)):
        if frame.height or not number:
            change(frame).write_parquet(folder / f"{name}-{number:05d}.parquet")


def _with_lists(frame: "polars.DataFrame") -> "polars.DataFrame":
    import polars as pl

    return frame.with_columns(
        pl.col("documents").str.json_decode(pl.List(pl.String)),
        lists(frame["scores"], "<f8").alias("scores"),
        lists(frame["matrix"], "<f4").alias("features"),
        feature_set="features",
    ).drop("matrix")


def _with_names(frame: "polars.DataFrame") -> "polars.DataFrame":
    import polars as pl

    return frame.select(feature_set="features", names=pl.col("names").str.json_decode(pl.List(pl.String)))
