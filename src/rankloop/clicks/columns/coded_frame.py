"""A log from a frame: each distinct text among its ids is stored once."""

from typing import Any

import numpy as np

from rankloop._arrays import Array, Ints
from rankloop.clicks.click_log import PAGE_COLUMNS, ClickLog
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.frames import log_rows, numpy_columns

__all__ = ["IDS", "log_of_frame"]

IDS = ("session", "query", "document", *PAGE_COLUMNS)


def log_of_frame(frame: Any) -> ClickLog:
    """The log in a polars, pandas or Arrow frame.

    Ids that are text are numbered before anything else: a long query takes memory once, not per impression.
    """
    import polars as pl

    rows = log_rows(frame)
    texts = [
        name
        for name in IDS
        if name in rows.columns
        and rows[name].dtype in (pl.String, pl.Categorical)
        and not rows[name].has_nulls()
    ]
    tables: dict[str, Array] = {}
    columns: dict[str, Any] = {}
    for name in texts:
        tables[name], columns[name] = _coded(rows[name])
    columns |= numpy_columns(rows.drop(texts))
    try:
        log = ClickLog(**columns)
    except ValueError:  # whose message would have numbers in place of texts
        return ClickLog(**numpy_columns(rows))
    log._fill({_field(name): _named(log, name, table) for name, table in tables.items()})
    return log


def _field(name: str) -> str:
    return {"session": "sessions", "document": "row_document"}.get(name, f"page_{name}")


def _named(log: ClickLog, name: str, table: Array) -> Any:
    """A column of numbers with the texts that they stand for."""
    numbers = getattr(log, _field(name))
    return table[numbers] if name == "session" else Coded(table[numbers.table], numbers.code)


def _coded(texts: Any) -> tuple[Array, Ints]:
    """The distinct texts, sorted, and for each entry its place among them."""
    import polars as pl

    plain = texts.cast(pl.String)
    table = plain.unique().sort()
    code = plain.cast(pl.Enum(table)).to_physical().to_numpy().astype(np.int64)
    return np.array(table.to_list(), np.str_), code
