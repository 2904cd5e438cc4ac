"""A log from a frame whose ids are text: each distinct text is stored once."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Array, Ints
from rankloop.clicks.click_log import PAGE_COLUMNS, ClickLog
from rankloop.clicks.columns.columns import Coded

if TYPE_CHECKING:
    import polars

__all__ = ["log_of_texts"]


def log_of_texts(frame: "polars.DataFrame") -> ClickLog:
    """The same as `ClickLog.from_frame`, in less memory: a long query is stored once, not per impression."""
    tables: dict[str, Array] = {}
    columns: dict[str, Any] = {}
    for name in frame.columns:
        if name in ("session", "query", "document", *PAGE_COLUMNS):
            tables[name], columns[name] = _coded(frame[name])
        else:
            columns[name] = frame[name].to_numpy()
    log = ClickLog(**columns)
    texts: dict[str, Any] = {"sessions": tables.pop("session")[log.sessions]}
    for name, table in tables.items():
        field = "row_document" if name == "document" else f"page_{name}"
        numbers: Coded = getattr(log, field)
        texts[field] = Coded(table[numbers.table], numbers.code)
    log._fill(texts)
    return log


def _coded(texts: "polars.Series") -> tuple[Array, Ints]:
    """The distinct texts, sorted, and for each entry its place among them."""
    import polars as pl

    table = texts.unique().sort()
    code = texts.cast(pl.Enum(table)).to_physical().to_numpy().astype(np.int64)
    return np.array(table.to_list(), np.str_), code
