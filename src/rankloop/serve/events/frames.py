"""Rows of the store as polars frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Boolean, Connection, Double, Integer, LargeBinary, Select

if TYPE_CHECKING:
    import polars

__all__ = ["frame", "frames", "lists"]

_AT_ONCE = 20_000


def frame(connection: Connection, statement: Select[Any]) -> "polars.DataFrame":
    """All rows of a query."""
    import polars as pl

    return pl.concat(frames(connection, statement, _AT_ONCE))


def frames(connection: Connection, statement: Select[Any], rows: int) -> "Iterator[polars.DataFrame]":
    """The rows of a query in frames of `rows`; the last frame may be empty."""
    import polars as pl

    types = {Double: pl.Float64, Integer: pl.Int64, Boolean: pl.Boolean, LargeBinary: pl.Binary}
    schema = {column.name: types.get(type(column.type), pl.String) for column in statement.selected_columns}
    found = connection.execution_options(stream_results=True).execute(statement)
    for some in found.partitions(rows):
        columns = zip(schema.items(), zip(*some, strict=True), strict=True)
        yield pl.DataFrame({name: pl.Series(values, dtype=kind) for (name, kind), values in columns})
    yield pl.DataFrame(schema=schema)


def lists(blobs: "polars.Series", dtype: str) -> "polars.Series":
    """Arrays stored as raw bytes, as lists of numbers."""
    import polars as pl

    numbers = np.frombuffer(b"".join(blobs.to_list()), dtype)
    lengths = np.array([len(one) for one in blobs.to_list()], np.int64) // np.dtype(dtype).itemsize
    index = np.repeat(np.arange(len(lengths)), lengths)
    grouped = pl.DataFrame({"at": index, "list": numbers}).group_by("at", maintain_order=True).agg("list")
    every = pl.DataFrame({"at": np.arange(len(lengths))}).join(grouped, on="at", how="left")
    return every["list"].fill_null([])
