"""A log from a file, batch by batch: each distinct text is kept once, and a row keeps numbers."""

from typing import Any

import numpy as np

from rankloop._arrays import Array
from rankloop._progress import progress
from rankloop.clicks.click_log import KNOWN, PAGE_COLUMNS, REQUIRED, ClickLog
from rankloop.clicks.columns.coded_frame import IDS
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.frames import numpy_columns, require

__all__ = ["log_of_scan"]

AT_ONCE = 200_000  # rows of a batch


def log_of_scan(scan: Any, title: str, rows: int | None = None) -> ClickLog:
    """The log in a lazy polars frame with one impression per row, of which `rows` are expected.

    Texts are numbered as they are read, so that memory grows by some bytes for a row, and by its length for
    each text that is new.
    """
    import polars as pl

    schema = scan.collect_schema()
    require(schema.names(), REQUIRED)
    names = [name for name in KNOWN if name in schema]
    texts = {name: pl.Categories.random() for name in IDS if schema.get(name) == pl.String}
    coded = (pl.col(name).cast(pl.Categorical(every)) for name, every in texts.items())
    parts: dict[str, list[Array]] = {name: [] for name in names}
    done = 0
    with progress(title, rows) as advance:
        for batch in scan.select(names).with_columns(*coded).collect_batches(chunk_size=AT_ONCE):
            _nothing_missing(batch, done)
            numbers = batch.select(
                pl.col(name).to_physical() if name in texts else pl.col(name) for name in names
            )
            for name, values in numpy_columns(numbers).items():
                parts[name].append(values.astype(np.int32) if name in texts else _compact(values))
            done += len(batch)
            advance(len(batch), f"{done:,} rows")
    columns: dict[str, Any] = {}
    for name in names:
        values = _joined(parts.pop(name))
        columns[name] = _sorted(texts[name].to_series(), values) if name in texts else values
    return ClickLog(**columns)


def _nothing_missing(batch: Any, before: int) -> None:
    for name in batch.columns:
        series = batch[name]
        if name in (*REQUIRED, *PAGE_COLUMNS) and series.null_count():
            row = before + int(np.argmax(series.is_null().to_numpy()))
            raise ValueError(f"{name} is missing in row {row}")


def _compact(values: Array) -> Array:
    """Whole numbers in as few bytes as hold them."""
    if values.dtype.kind not in "iu" or not len(values):
        return values
    return values.astype(np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))


def _joined(parts: list[Array]) -> Array:
    """One array of all parts, each of which is freed once it is in it."""
    if not parts:
        return np.empty(0, np.int32)
    kind = parts[0].dtype
    for part in parts:
        kind = np.promote_types(kind, part.dtype)
    whole, at = np.empty(sum(map(len, parts)), kind), 0
    while parts:
        part = parts.pop(0)
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


def _sorted(table: Any, code: Array) -> Coded:
    """Texts in the order in which they were first read, as a sorted table."""
    order = table.arg_sort().to_numpy()
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Coded(np.array(table.gather(order).to_list(), np.str_), place[code])
