"""The columns of a click log from a data frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.clicks.click_log import KNOWN, REQUIRED

__all__ = ["exploded", "log_rows", "numpy_columns", "require"]


def log_rows(frame: Any) -> Any:
    """The columns of a log as a polars frame; other columns are left out, lists become rows."""
    rows = exploded(_polars(frame))
    require(rows.columns, REQUIRED)
    for name in REQUIRED:
        series = rows[name]
        if series.null_count():
            raise ValueError(f"{name} is missing in row {int(np.argmax(series.is_null().to_numpy()))}")
    return rows.select([name for name in KNOWN if name in rows.columns])


def numpy_columns(rows: Any) -> dict[str, Any]:
    """The columns of a frame as arrays."""
    return {name: _numpy(rows[name]) for name in rows.columns}


def require(names: Sequence[str], wanted: Sequence[str]) -> None:
    """An error that names the columns that are missing."""
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise ValueError(
            f"a click log needs the columns {', '.join(wanted)}; {', '.join(lacking)} is missing "
            f"from {', '.join(names)}; rename the columns first"
        )


def exploded(frame: Any) -> Any:
    """One impression per row, from a (lazy) frame with one page per row; positions default to list order."""
    import polars as pl

    schema = frame.collect_schema()
    listed = [name for name, kind in schema.items() if isinstance(kind, pl.List | pl.Array)]
    if not listed:
        return frame
    if "position" not in schema:
        frame = frame.with_columns(position=pl.int_ranges(1, pl.col(listed[0]).list.len() + 1))
        listed = [*listed, "position"]
    if "session" not in schema:
        frame = frame.with_row_index("session")
    lengths = pl.col(listed[0]).list.len()
    return frame.filter(lengths > 0).explode(listed)


def _polars(frame: Any) -> Any:
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        return exploded(frame).collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if type(frame).__module__.startswith("pandas"):
        return pl.DataFrame({str(name): frame[name].to_numpy() for name in frame.columns})
    return pl.from_arrow(frame)


def _numpy(series: Any) -> Any:
    import polars as pl

    if series.dtype in (pl.String, pl.Categorical):
        return np.array(series.to_list(), object if series.null_count() else np.str_)
    if series.dtype == pl.Boolean:
        return series.cast(pl.Int8).to_numpy()
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6
    return series.to_numpy()
