"""Click logs in files: Parquet, CSV and JSON lines."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rankloop._atomic import replacing
from rankloop._names import unknown
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.frames import exploded
from rankloop.clicks.columns.lines import frame_of_lines
from rankloop.data import kind_of
from rankloop.data.files.frames import read_by_polars
from rankloop.data.files.records import Faults
from rankloop.data.files.table_bound import check_table

__all__ = ["explained", "read_clicks", "scan", "write_clicks"]


def read_clicks(
    path: str | Path,
    *,
    format: str | None = None,
    deepest: int | None = None,
    largest: int | None = None,
    on_error: str = "raise",
    skipped: "Counter[str] | None" = None,
) -> ClickLog:
    """Read a click log: one impression per row, or one page per row with lists of documents and clicks.

    `format` is "parquet", "csv", "jsonl" (by default by the file's ending), "yandex" (relevance prediction
    challenge), "trec" (session track XML), "graphcm" (TREC sessions as lists of ids) or "metarank" (events,
    which their content shows as well). Without positions, lists are in displayed order. UBI has two files:
    see `read_ubi`. A position beyond `deepest` is an error, as models have numbers for every position; by
    default that is 10,000, or the number of rows where that is more. A table that needs more than `largest`
    bytes of memory is refused, by default 1000 times its size. With `on_error="skip"` a bad line of a CSV
    file or of JSON lines is left out and counted (in `skipped`, else in a warning).

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> write_clicks(ClickLog([1], ["q"], ["d"], [1], [1]), path)
    >>> read_clicks(path)
    ClickLog(1 pages, 1 impressions, 1 clicks, 1 queries)
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    if format is None:
        format = _format_of(source)
    if format in (None, *_SCANS):
        from rankloop.clicks.columns.streamed import log_of_scan

        kind = _format(source, format)
        with explained(source, format), Faults(source, on_error, skipped).summed_up() as faults:
            if source.is_file():
                check_table(source, kind, largest)
            if (faults.skips and kind != "parquet") or (kind == "jsonl" and _marked(source)):
                log = ClickLog.from_frame(exploded(frame_of_lines(source, kind, faults)))
            else:
                rows = _rows(source) if kind == "parquet" else None
                log = log_of_scan(scan(source, format=kind), f"reading {source.name}", rows)
        return _bounded(log, source, deepest)
    from rankloop.clicks.read_graphcm import read_graphcm
    from rankloop.clicks.read_metarank import read_metarank
    from rankloop.clicks.read_trec_sessions import read_trec_sessions
    from rankloop.clicks.read_yandex import read_yandex

    readers: dict[str, Callable[[Path], ClickLog]] = {
        "yandex": read_yandex,
        "trec": read_trec_sessions,
        "graphcm": read_graphcm,
        "metarank": partial(read_metarank, on_error=on_error, skipped=skipped),
    }
    if on_error != "raise" and format in readers and format != "metarank":
        raise ValueError(f'on_error="skip" is for CSV and JSON lines; {format} files are read as they are')
    if format not in readers:
        raise unknown("click log format", format, [*_SCANS, *readers])
    return _bounded(readers[format](source), source, deepest)


def _format_of(path: Path) -> str | None:
    """The format that a file has by its content, if it is none of a table."""
    if not path.is_file():
        return None
    try:
        kind = kind_of(path)
    except ValueError:  # a broken file goes by its name, and its reader says what is wrong
        return None
    if kind.startswith("ubi."):
        raise ValueError(
            f"{path} is one of the two files of UBI; read both with clicks.read_ubi(queries, events)"
        )
    return "metarank" if kind == "clicks.metarank" else None


def _marked(path: Path) -> bool:
    """Whether a file begins with a byte order mark, with which it is no JSON to polars."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(3) == b"\xef\xbb\xbf"


def _rows(path: Path) -> int | None:
    """The number of impressions of a Parquet file by its footer; None where a row is a page."""
    import polars as pl

    frame = pl.scan_parquet(path)
    if any(isinstance(kind, pl.List | pl.Array) for kind in frame.collect_schema().values()):
        return None
    return int(frame.select(pl.len()).collect().item())


def _bounded(log: ClickLog, path: Path, deepest: int | None) -> ClickLog:
    bound = max(_DEEPEST, len(log)) if deepest is None else deepest
    if log.n_positions > bound:
        raise ValueError(
            f"{path} has position {log.n_positions:,} where at most {bound:,} is expected; correct it, or "
            f"read the log with deepest={log.n_positions}"
        )
    return log


def write_clicks(log: ClickLog, path: str | Path) -> None:
    """Write one impression per row, atomically: .parquet, .csv or .jsonl."""
    target = Path(path)
    kind = _format_of_name(target)
    frame = log.to_frame()
    with replacing(target) as beside:
        if kind == "parquet":
            frame.write_parquet(beside)
        elif kind == "csv":
            frame.write_csv(beside)
        else:
            frame.write_ndjson(beside)


@contextmanager
def explained(path: Path, format: str | None = None) -> Iterator[None]:
    """Turn the error of a reader into one sentence that names the file."""
    from polars.exceptions import ShapeError

    with read_by_polars(f"{path.name} cannot be read as {_format(path, format)}"):
        try:
            yield
        except ShapeError as error:
            raise ValueError(f"the lists of one page in {path.name} are not equally long: {error}") from error


def scan(path: Path, *, format: str | None = None, names: Mapping[str, str] | None = None) -> Any:
    """A lazy polars frame with one impression per row; `names` has the file's names of our columns."""
    import polars as pl

    kind = _format(path, format)
    if kind == "parquet":
        frame = pl.scan_parquet(path)
    elif kind == "csv":
        frame = pl.scan_csv(path, infer_schema_length=10_000)
    else:
        frame = pl.scan_ndjson(path, infer_schema_length=10_000)
    return exploded(frame if names is None else _renamed(frame, path, names))


def _renamed(frame: Any, path: Path, names: Mapping[str, str]) -> Any:
    """The same with our names; a column that has one of them already gives way."""
    import polars as pl

    given = frame.collect_schema().names()
    for theirs in names.values():
        if theirs not in given:
            raise ValueError(f"{path.name} has no column {theirs!r}; it has {', '.join(given)}")
    others = [name for name in given if name not in names and name not in names.values()]
    return frame.select(*others, *(pl.col(theirs).alias(ours) for ours, theirs in names.items()))


_DEEPEST = 10_000
_SCANS = {"parquet": (".parquet", ".pq"), "csv": (".csv",), "jsonl": (".jsonl", ".ndjson")}


def _format(path: Path, format: str | None) -> str:
    if format is not None:
        return format
    if path.is_file():
        with suppress(ValueError):  # a broken file goes by its name, and its reader says what is wrong
            if (found := kind_of(path).rpartition(".")[2]) in _SCANS:
                return found
    return _format_of_name(path)


def _format_of_name(path: Path) -> str:
    """The format of a file to be written, or of a pattern of files."""
    for name, endings in _SCANS.items():
        if path.suffix.lower() in endings:
            return name
    raise ValueError(
        f"the format of {path.name} is not known by its ending (.parquet, .csv, .jsonl); pass format= "
        '("parquet", "csv", "jsonl", "yandex", "trec", "graphcm" or "metarank")'
    )
