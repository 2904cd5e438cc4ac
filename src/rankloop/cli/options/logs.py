"""Click logs named on the command line: files, globs, shards, and documents that a data set lacks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.reading import expanded

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.data import RankingDataset

__all__ = ["Missing", "read_log", "without_missing"]

Missing = Annotated[
    str,
    typer.Option("--missing", help="Documents of the log that the data set lacks: raise (an error) or drop."),
]


def read_log(path: str | Path, log_format: str | None = None) -> "ClickLog":
    """A click log from a file, from all files of a glob, or from shards."""
    from rankloop.clicks import ClickLog, read_clicks
    from rankloop.data import kind_of

    source = expanded(path)
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
