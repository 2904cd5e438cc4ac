"""Click logs named on the command line: files, globs, shards, and documents that a data set lacks."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.reading import expanded

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.data import RankingDataset

__all__ = [
    "JoinedLog",
    "LogReading",
    "asked",
    "read_clicks_reporting",
    "read_log",
    "report_skipped",
    "without_missing",
]


@dataclass(frozen=True)
class LogReading:
    """How a click log is read: its format, the names of its columns, and what happens to bad lines."""

    log_format: Annotated[
        str | None,
        typer.Option(
            "--log-format",
            help="Format of the click log: parquet, csv, jsonl, ubi (a folder), yandex, trec, graphcm or "
            "metarank; by default by the file name.",
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="For a log in CSV, Parquet or JSONL: its column names, as in "
            "query=q,document=sku,click=clicked.",
        ),
    ] = None
    on_error: Annotated[
        str | None,
        typer.Option(
            "--on-error",
            help="For invalid lines of the click log: fail (an error) or skip (left out, with a count). By "
            "default fail, and for UBI skip.",
        ),
    ] = None

    def log(self, path: str | Path) -> "ClickLog":
        """The log of a file, of all files of a glob, of shards, or of an engine that keeps UBI."""
        return read_log(path, self.log_format, self.columns, self.on_error)


@dataclass(frozen=True)
class JoinedLog(LogReading):
    """The same for a log whose documents are rows of a data set."""

    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="For documents of the log that are not in the data set: raise (an error) or drop.",
        ),
    ] = "raise"

    def of(self, path: str | Path, data: "RankingDataset | None") -> "ClickLog":
        """The log, where asked for without the documents that the data set lacks."""
        return without_missing(self.log(path), data, self.missing)


def read_log(
    path: str | Path, log_format: str | None = None, columns: str | None = None, on_error: str | None = None
) -> "ClickLog":
    """A click log from a file, from all files of a glob, from shards, or from an engine that keeps UBI."""
    from rankloop.clicks import ClickLog
    from rankloop.data import kind_of
    from rankloop.engines.remote.address import is_address

    if is_address(path) or log_format == "ubi":
        from rankloop.cli.options.ubi_log import ubi_files, ubi_log

        if columns is not None:
            raise ValueError("--columns is for logs in tables; UBI has names of its own")
        return ubi_log(str(path), on_error) if is_address(path) else ubi_files(Path(path), on_error)
    source = expanded(path)
    if columns is not None:
        if asked(on_error) == "skip":
            raise ValueError("--on-error skip reads a log by its own names; leave --columns out")
        return _renamed_log(source, log_format, columns)
    if isinstance(source, list):
        import polars

        from rankloop._progress import progress

        frames = []
        with progress("reading logs", len(source)) as advance:
            for file in source:
                frames.append(read_clicks_reporting(file, log_format, on_error).to_frame())
                advance(1, file)
        return ClickLog.from_frame(polars.concat(frames, how="vertical_relaxed"))
    if "://" in source or (Path(source).is_dir() and log_format is None and kind_of(source) == "shards"):
        import polars

        from rankloop.data import open_shards

        if asked(on_error) == "skip":
            raise ValueError("shards have no bad lines to skip; leave --on-error out")
        shards = open_shards(source)
        if shards.kind != "clicks":
            raise ValueError(f"{source} holds shards of {shards.kind}; a click log is needed")
        return ClickLog.from_frame(polars.concat([shards.frame(i) for i in range(len(shards))]))
    return read_clicks_reporting(source, log_format, on_error)


def asked(on_error: str | None, default: str = "fail") -> str:
    """The word of `--on-error` as readers have it.

    >>> asked("fail"), asked("skip"), asked(None, default="skip")
    ('raise', 'skip', 'skip')
    """
    from rankloop._names import one_of

    word = one_of("on-error", on_error or default, ("fail", "skip"))
    return "raise" if word == "fail" else "skip"


def read_clicks_reporting(path: str | Path, log_format: str | None, on_error: str | None) -> "ClickLog":
    """A log of one file; lines that were skipped are counted on stderr."""
    from rankloop.clicks import read_clicks

    skipped: Counter[str] = Counter()
    log = read_clicks(path, format=log_format, on_error=asked(on_error), skipped=skipped)
    report_skipped(skipped, path)
    return log


def report_skipped(skipped: "Counter[str]", path: str | Path) -> None:
    """Say how many lines of a log were left out, by reason."""
    if skipped:
        counts = ", ".join(f"{count:,} {what}" for what, count in skipped.most_common())
        typer.echo(f"{path}: left out {counts}", err=True)


def _renamed_log(source: str | list[str], log_format: str | None, columns: str) -> "ClickLog":
    """A log whose columns have other names."""
    import polars

    from rankloop._names import one_of
    from rankloop.clicks import ClickLog
    from rankloop.clicks.click_log import PAGE_COLUMNS, REQUIRED, ROW_COLUMNS
    from rankloop.clicks.read_clicks import explained, scan

    known = (*REQUIRED, *PAGE_COLUMNS, *ROW_COLUMNS)
    names: dict[str, str] = {}
    for part in columns.split(","):
        ours, equals, theirs = (one.strip() for one in part.partition("="))
        if not equals or not theirs:
            raise ValueError(f"--columns takes pairs like query=q,document=sku, got {part!r}")
        names[one_of("column of a click log", ours, known)] = theirs
    frames = []
    for file in [source] if isinstance(source, str) else source:
        path = Path(file)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        with explained(path, log_format):
            frame = scan(path, format=log_format, names=names).collect()
        frames.append(frame)
    return ClickLog.from_frame(polars.concat(frames, how="vertical_relaxed"))


def without_missing(log: "ClickLog", data: "RankingDataset | None", missing: str) -> "ClickLog":
    """The log without impressions of documents that are not in the data set, where they are to be dropped."""
    from rankloop._names import one_of
    from rankloop.clicks import ClickLog

    one_of("missing", missing, ("raise", "drop"))
    if missing == "raise" or data is None:
        return log
    known = log.rows(data, missing="mark") >= 0
    if known.all():
        return log
    if not known.any():
        raise ValueError("no document of the log is in the data set; check that they belong together")
    typer.echo(
        f"dropped {int((~known).sum()):,} of {len(log):,} impressions, whose documents the data set lacks",
        err=True,
    )
    return ClickLog.from_frame(log.to_frame().filter(known))
