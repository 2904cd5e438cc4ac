"""Pages of other front ends, which their collectors sent as UBI, beside the pages of the service."""

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks import ClickLog, read_ubi
from rankloop.clicks.intervention import NONE
from rankloop.data import RankingDataset
from rankloop.search import Features, Searchable
from rankloop.search.judged_lists import judged_lists
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.influence import bounded
from rankloop.serve.learning.window import UBI, Window

if TYPE_CHECKING:
    import polars

__all__ = ["came_since", "with_ubi"]


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

    Only what came with the token or from an allowed site is there. A page that shows a document which the
    index does not have is left out, and of one person what is beyond `influence`. Layouts are named "ubi" or,
    by their application, "ubi/shop".
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


def _frame(
    folder: Path, since: float | None, until: float, depth: int, influence: InfluenceSettings, seed: int
) -> "polars.DataFrame | None":
    """One impression a row, in the columns of a store's; None where there is nothing."""
    import polars as pl

    files = [folder / f"{kind}.jsonl" for kind in ("queries", "events")]
    if not all(path.is_file() and path.stat().st_size for path in files):
        return None
    try:
        log = read_ubi(*files, on_error="skip", skipped=Counter())
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
    return _of_few(frame, influence, seed) if len(frame) else None


def _of_few(frame: "polars.DataFrame", influence: InfluenceSettings, seed: int) -> "polars.DataFrame":
    """Without the pages of one person on a day that are beyond the bound."""
    import polars as pl

    pages = frame.unique("session", keep="first", maintain_order=True)
    hashed = [hashlib.blake2b(one.encode(), digest_size=8).hexdigest() for one in pages["session"]]
    pages = pages.select(
        "session",
        "user",
        "query",
        time=pl.col("timestamp").fill_nan(0.0),
        origin=pl.lit(None, pl.String),
        page_id=pl.Series(hashed),
    )
    kept, _ = bounded(pages, replace(influence, origin=0.0, query=0.0), seed=seed)
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
