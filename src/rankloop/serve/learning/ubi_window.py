"""Pages of other front ends, which their collectors sent as UBI, beside the pages of the service."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks import ClickLog, read_ubi
from rankloop.clicks.intervention import NONE
from rankloop.data import RankingDataset
from rankloop.search import Features, Searchable
from rankloop.search.judged_lists import judged_lists
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.influence import bounded
from rankloop.serve.events.ubi_files import arrivals, records
from rankloop.serve.learning.window import UBI, Window

if TYPE_CHECKING:
    import polars

__all__ = ["came_since", "ubi_origins", "with_ubi"]

_READ = (  # fields of UBI; others are not looked into, so that a record is one page or one event
    "action_name",
    "application",
    "client_id",
    "event_attributes",
    "query_attributes",
    "query_id",
    "query_response_hit_ids",
    "query_response_objects_ids",
    "session_id",
    "timestamp",
    "user_query",
)


def came_since(home: Path, moment: float) -> bool:
    """Whether a collector sent anything after a moment."""
    paths = [home / "ubi" / f"{kind}.jsonl" for kind in ("queries", "events")]
    return any(path.is_file() and path.stat().st_mtime > moment for path in paths)


def with_ubi(
    window: Window | None,
    home: Path,
    index: Searchable,
    features: Features,
    *,
    since: float | None,
    until: float,
    depth: int,
    influence: InfluenceSettings,
    seed: int = 0,
) -> Window | None:
    """The window and the pages in `HOME/ubi`, described by the features of now where they were not served.

    Only what came with the token or from an allowed site is there; as any program can claim to be a page of
    that site, what one person or one address range sent beyond `influence` is left out. So is a page that
    shows a document which the index does not have. Layouts are named "ubi" or, by their application,
    "ubi/shop".
    """
    frame = _frame(home / "ubi", since, until, depth, influence, seed)
    if frame is None:
        return window
    names = features.names if window is None else tuple(window.data.feature_names or ())
    data = _described(window, index, Features.over(index, names), frame)
    if data is None:
        return window
    log = ClickLog.from_frame(frame if window is None else _beside(window.log.to_frame(), frame))
    known = np.minimum.reduceat(log.rows(data, missing="mark"), log.offsets[:-1]) >= 0
    if not known.any():
        return window
    others = int(np.sum(~known)) + (window.others if window else 0)
    kept = log if known.all() else log.select(known)
    if window is None:
        return Window(kept, data, since, until, depth, others)
    return replace(window, log=kept, data=data, others=others)


def ubi_origins(home: Path) -> dict[str, str]:
    """The address range of each page, by its session in the window, where one is known."""
    found = arrivals(home / "ubi" / "queries.jsonl")
    return {f"{UBI}/{query}": origin for query, (_, origin) in found.items() if origin is not None}


def _frame(
    folder: Path, since: float | None, until: float, depth: int, influence: InfluenceSettings, seed: int
) -> "polars.DataFrame | None":
    """One impression a row, in the columns of a store's; None where there is nothing."""
    import polars as pl

    files = [folder / f"{kind}.jsonl" for kind in ("queries", "events")]
    if not all(path.is_file() and path.stat().st_size for path in files):
        return None
    try:
        log = read_ubi(*map(_plain, files), on_error="skip", skipped=Counter())
    except ValueError:  # no query has results
        return None
    frame = log.to_frame().with_columns(pl.col("session", "query", "document").cast(pl.String))
    for name in ("user", "layout"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.String).alias(name))
    if "timestamp" not in frame.columns:
        frame = frame.with_columns(timestamp=pl.lit(float("nan")))
    frame = frame.with_columns(
        session=pl.lit("ubi/") + pl.col("session"),
        query=pl.col("query").str.replace_all(r"\s+", " ").str.strip_chars(),
        user=pl.when(pl.col("user") != "").then(pl.col("user")),
        layout=pl.when(pl.col("layout") != "").then(UBI + "/" + pl.col("layout")).otherwise(pl.lit(UBI)),
        ranker=pl.lit(UBI),
    ).filter((pl.col("query") != "") & (pl.col("position") <= depth))
    when = pl.col("timestamp").fill_nan(None)
    within = (when < until) & (when >= (since if since is not None else -np.inf))
    frame = frame.filter(within.fill_null(value=since is None))
    return _of_few(frame, arrivals(files[0]), influence, seed) if len(frame) else None


def _plain(path: Path) -> list[dict[str, Any]]:
    return [{name: one[name] for name in _READ if name in one} for one in records(path)]


def _of_few(
    frame: "polars.DataFrame",
    arrived: Mapping[str, tuple[float, str | None]],
    influence: InfluenceSettings,
    seed: int,
) -> "polars.DataFrame":
    """Without the pages of one person or address range that are beyond the bound of a day.

    The day is that on which a page arrived: senders write its own time.
    """
    import polars as pl

    pages = frame.unique("session", keep="first", maintain_order=True)
    came = [arrived.get(one.removeprefix(f"{UBI}/"), (0.0, None)) for one in pages["session"]]
    hashed = [hashlib.blake2b(one.encode(), digest_size=8).hexdigest() for one in pages["session"]]
    pages = pages.select(
        "session",
        "user",
        "query",
        time=pl.Series([when for when, _ in came], dtype=pl.Float64),
        origin=pl.Series([origin for _, origin in came], dtype=pl.String),
        page_id=pl.Series(hashed),
    )
    kept, _ = bounded(pages, influence, seed=seed)
    filled = frame.with_columns(user=pl.coalesce("user", "session"))
    return filled.join(kept.select("session"), on="session", how="semi", maintain_order="left")


def _described(
    window: Window | None, index: Searchable, features: Features, frame: "polars.DataFrame"
) -> RankingDataset | None:
    """The documents of the window, and those of the frame that the window does not have."""
    shown: dict[str, dict[str, float]] = {}
    for query, document in frame.select("query", "document").unique(maintain_order=True).iter_rows():
        shown.setdefault(query, {})[document] = 0.0
    before = None if window is None else window.data
    if before is not None:
        for query, document in zip(before.row_qid.tolist(), _documents(before), strict=True):
            shown.get(str(query), {}).pop(document, None)
    fresh = {query: documents for query, documents in shown.items() if documents}
    if not fresh:
        return before
    try:
        more = judged_lists(index.retriever(), features, {one: one for one in fresh}, fresh, "judged")
    except ValueError as error:
        if "no judged document" not in str(error):
            raise
        return before
    if before is None:
        return more
    return RankingDataset(
        np.concatenate([before.X, more.X]),
        np.concatenate([before.y, more.y]),
        np.concatenate([before.row_qid.astype(np.str_), more.row_qid.astype(np.str_)]),
        docid=np.array([*_documents(before), *_documents(more)]),
        feature_names=before.feature_names,
    )


def _documents(data: RankingDataset) -> list[str]:
    assert data.docid is not None
    return [str(one) for one in data.docid.tolist()]


def _beside(served: "polars.DataFrame", ubi: "polars.DataFrame") -> "polars.DataFrame":
    """Both in the columns of pages that were served; those of UBI were not changed at random."""
    import polars as pl

    given = {
        "intervention": pl.lit(NONE),
        "original_position": pl.col("position"),
        "score": -pl.col("position").cast(pl.Float64),
    }
    ubi = ubi.with_columns(**{name: made for name, made in given.items() if name in served.columns})
    known = ubi.select([name for name in served.columns if name in ubi.columns])
    return pl.concat([served, known], how="diagonal_relaxed")
