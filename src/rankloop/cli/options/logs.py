"""Click logs named on the command line: files, globs, shards, and documents that a data set lacks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.reading import expanded

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.data import RankingDataset

__all__ = ["Columns", "Missing", "read_log", "without_missing"]

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Of a log in a table: what its columns are called, as in query=q,document=sku,click=clicked.",
    ),
]

Missing = Annotated[
    str,
    typer.Option("--missing", help="Documents of the log that the data set lacks: raise (an error) or drop."),
]


def read_log(path: str | Path, log_format: str | None = None, columns: str | None = None) -> "ClickLog":
    """A click log from a file, from all files of a glob, from shards, or from an engine that keeps UBI."""
    from rankloop.clicks import ClickLog, read_clicks
    from rankloop.data import kind_of
    from rankloop.engines.remote.address import is_address

    if is_address(path) or log_format == "ubi":
        from rankloop.cli.options.ubi_log import ubi_files, ubi_log

        if columns is not None:
            raise ValueError("--columns is for logs in tables; UBI has names of its own")
        return ubi_log(str(path)) if is_address(path) else ubi_files(Path(path))
    source = expanded(path)
    if columns is not None:
        return _renamed_log(source, log_format, columns)
    if isinstance(source, list):
        import polars

        from rankloop._progress import progress

        frames = []
        with progress("reading logs", len(source)) as advance:
            for file in source:
                frames.append(read_clicks(file, format=log_format).to_frame())
                advance(1, file)
        return ClickLog.from_frame(polars.concat(frames, how="vertical_relaxed"))
    if "://" in source or (Path(source).is_dir() and log_format is None and kind_of(source) == "shards"):
        import polars

        from rankloop.data import open_shards

        shards = open_shards(source)
        if shards.kind != "clicks":
            raise ValueError(f"{source} holds shards of {shards.kind}; a click log is wanted")
        return ClickLog.from_frame(polars.concat([shards.frame(i) for i in range(len(shards))]))
    return read_clicks(source, format=log_format)


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
            raise FileNotFoundError(f"no such file: {path}")
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
