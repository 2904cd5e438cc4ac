"""The order of rows in a file: a data set gathers the rows of a query, and scores go back to theirs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rankloop._arrays import Floats, Ints

__all__ = ["in_query_order", "in_row_order"]

_QUERY = re.compile(rb"^[^#\n]*?qid:(\S+)", re.MULTILINE)


def in_row_order(scores: "Floats", source: str | list[str], qid: str) -> "Floats":
    """Scores of a data set that was read from `source`, in the order of the rows of its files."""
    grouped = _grouped(source, qid, len(scores))
    if grouped is None:
        return scores
    placed = np.empty_like(scores)
    placed[grouped] = scores
    return placed


def in_query_order(scores: "Floats", source: str | list[str], qid: str) -> "Floats":
    """Scores in the order of the rows of files, as the data set that is read from them has its rows."""
    grouped = _grouped(source, qid, len(scores))
    return scores if grouped is None else scores[grouped]


def _grouped(source: str | list[str], qid: str, rows: int) -> "Ints | None":
    """The rows of the files query by query; None where they are so already."""
    from rankloop.data.open_dataset import kind_of_dataset

    files = [source] if isinstance(source, str) else source
    kind = "svmlight" if _is_text(files[0]) else kind_of_dataset(source)
    if kind not in ("svmlight", "parquet", "csv", "jsonl"):
        return None  # was grouped when it was written
    text = kind == "svmlight"
    ids = np.concatenate([_text_queries(file) if text else _column(file, kind, qid) for file in files])
    if len(ids) != rows:
        return None  # a side file says where queries begin, and they follow each other
    _, first, code = np.unique(ids, return_index=True, return_inverse=True)
    grouped: Ints = np.argsort(first[code], kind="stable")
    return None if np.array_equal(grouped, np.arange(rows)) else grouped


def _is_text(file: str) -> bool:
    from rankloop.cli.options.unlabelled import begins_with_query

    return begins_with_query(Path(file))


def _text_queries(file: str) -> Any:
    return np.array([one for part in _found(file) for one in part])


def _found(file: str) -> Iterator[list[bytes]]:
    from rankloop.data.files.text import TextSource

    with TextSource(file) as source:
        buffer, end = source.fill(bytearray(1 << 22), beyond=1)
        while end:
            yield _QUERY.findall(bytes(buffer[:end]))
            buffer, end = source.fill(buffer, beyond=1)


def _column(file: str, kind: str, qid: str) -> Any:
    import polars

    scans: dict[str, Any] = {
        "parquet": polars.scan_parquet,
        "csv": polars.scan_csv,
        "jsonl": polars.scan_ndjson,
    }
    column = scans[kind](file).select(polars.col(qid).cast(polars.String)).collect()
    return column[qid].to_numpy()
