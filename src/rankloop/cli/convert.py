"""`rankloop convert`: a data set, or judgments, in another format."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Json
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import TABLES, Reading

__all__ = ["convert"]


@grouped
def convert(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="SVMLight text or Parquet (one file or several), CSV, JSONL, saved or shards; or judgments."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="What to write: .txt or .svm (also .gz, .zst), .parquet, or a folder for any other name."
        ),
    ],
    n_features: Annotated[
        int | None, typer.Option(help="The number of features, where the text may omit the last ones.")
    ] = None,
    missing: Annotated[
        float | None, typer.Option(help="The value of a feature that a line omits: 0 or nan.")
    ] = None,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature indices start at 0.")] = False,
    no_side_files: Annotated[
        bool, typer.Option("--no-side-files", help="Ignore .query, .group and .weight files.")
    ] = False,
    shared_queries: Annotated[
        bool, typer.Option("--shared-queries", help="Join the rows of a query that occurs in several files.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="For judgments: trec, beir, quepid, quepid-detailed, quepid-json, quepid-book, workbench, "
            "rre or o19s.",
        ),
    ] = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Convert a data set to another format; text becomes a saved folder in bounded memory.

    rankloop convert train.txt train.parquet

    rankloop convert shop.csv train.txt --qid query --label grade --docid sku

    rankloop convert book.json judgments.txt --format trec
    """
    import json as writer

    from rankloop.data.convert import convert as convert_dataset
    from rankloop.data.load_dataset import load_dataset
    from rankloop.data.open_dataset import kind_of_dataset
    from rankloop.data.write_dataset import form_of, write_dataset

    given = {
        "n_features": n_features,
        "missing": missing,
        "zero_based": zero_based or None,
        "side_files": False if no_side_files else None,
        "shared_queries": shared_queries or None,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    source = sources[0] if len(sources) == 1 else sources
    if format is not None:
        if len(sources) > 1 or options or reading != Reading():
            raise ValueError("--format is for one file of judgments; leave out other files and options")
        from rankloop.data.judgments import read_judgments, write_judgments

        read = read_judgments(sources[0])
        write_judgments(read, target, format=format)
        written = sum(row.rated for row in (read if format == "quepid-book" else read.single()))
        ratings = sum(row.rated for row in read)
        about = {"target": str(target), "judgments": written}
        several = f", from {ratings:,} ratings" if ratings > written else ""
        typer.echo(writer.dumps(about) if json else f"wrote {target}: {written:,} judgments{several}")
        return
    kind = kind_of_dataset(source)
    if kind != "svmlight" and options:
        first = next(iter(options)).replace("_", "-")
        raise ValueError(f"--{first} is for SVMLight text, and {sources[0]} is not; leave it out")
    if reading.feature_names is not None:
        if options or len(sources) > 1:
            raise ValueError("--feature-names is for one file of text; leave out other files and options")
        write_dataset(reading.dataset(sources[0]), target)
    else:
        if kind in TABLES:
            options = reading.columns(source)
        else:
            reading.refuse_columns(sources[0])
        convert_dataset(source, target, **options)
    if form_of(target) == "saved":
        made = load_dataset(target)
        counts = {"queries": made.n_queries, "documents": made.n_documents, "features": made.n_features}
        if json:
            typer.echo(writer.dumps({"target": str(target), **counts}))
        else:
            text = ", ".join(f"{value:,} {name}" for name, value in counts.items())
            typer.echo(f"wrote {target}: {text}")
    else:
        typer.echo(writer.dumps({"target": str(target)}) if json else f"wrote {target}")
