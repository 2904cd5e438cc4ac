"""`rankloop shard`: a data set or a click log as a folder of shards."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import Json

__all__ = ["shard"]


def shard(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="SVMLight text, a saved folder, or Parquet, CSV or JSONL files of rows or clicks."
        ),
    ],
    target: Annotated[str, typer.Argument(help="The folder to write, also s3://... and other addresses.")],
    shards: Annotated[int | None, typer.Option(help="How many; by default one per 64 MB of files.")] = None,
    qid: Annotated[str, typer.Option(help="For tables of documents: the column of query ids.")] = "qid",
    label: Annotated[str, typer.Option(help="For tables: the column of labels.")] = "label",
    docid: Annotated[str, typer.Option(help="For tables: the column of document ids.")] = "docid",
    spill: Annotated[
        Path | None, typer.Option(help="A folder for temporary files; by default a new one.")
    ] = None,
    json: Json = False,
) -> None:
    """Write shards of whole queries, in one pass and in bounded memory, for commands with --backend.

    rankloop shard train.txt train.shards --shards 32

    rankloop shard shop.csv shop.shards --qid query --label grade --docid sku

    rankloop shard clicks-*.parquet s3://bucket/clicks.shards
    """
    import json as writer

    from rankloop.data.shards.write_shards import write_shards

    source = sources[0] if len(sources) == 1 else sources
    found = write_shards(source, target, shards=shards, qid=qid, label=label, docid=docid, spill=spill)
    if json:
        facts = {"shards": len(found), "queries": found.n_queries, "rows": found.n_rows}
        made = {"target": target, "kind": found.kind, **facts, "labels": found.labels}
        typer.echo(writer.dumps({**made, "fingerprint": found.fingerprint}, indent=2))
    else:
        typer.echo(
            f"wrote {target}: {len(found):,} shards of {found.kind}, {found.n_queries:,} queries, "
            f"{found.n_rows:,} rows"
        )
