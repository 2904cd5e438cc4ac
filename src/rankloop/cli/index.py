"""`rankloop index`: documents into an index."""

from typing import Annotated

import typer

__all__ = ["index"]


def index(
    source: Annotated[str, typer.Argument(help="JSONL, CSV, Parquet, a folder, or a database with --sql.")],
    out: Annotated[
        str, typer.Option("--into", "--out", "-o", help="The index: created, or updated if it exists.")
    ],
    fields: Annotated[
        str | None,
        typer.Option("--fields", help="Like title:text,genre:keyword,price:number,embedding:vector:384."),
    ] = None,
    id: Annotated[str, typer.Option("--id", help="The field that identifies a document.")] = "id",
    language: Annotated[
        str, typer.Option("--language", help="Of stop words and stemmer; none: no stemming, no stop words.")
    ] = "english",
    embed: Annotated[
        str | None,
        typer.Option(
            help="Search by meaning too: an encoder (rankloop encoders list), or a folder with one."
        ),
    ] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="The query whose rows are the documents.")] = None,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Leave invalid documents out and report them.")
    ] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merge everything into one segment at the end.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put documents into an index; documents that are in it already are updated.

    rankloop index shop.jsonl --out shop.index --fields title:text,price:number

    rankloop index shop.jsonl --out shop.index --fields title:text --embed minilm
    """
    from json import dumps
    from pathlib import Path

    from rankloop.search import Analyser, Index, read_documents
    from rankloop.search.field import read_fields

    if (Path(out) / "manifest.json").exists():
        target = Index.open(out)
        own = {name: field for name, field in target.fields.items() if name not in target.encoders}
        typed = (
            {name: kind for name, kind in _declared(fields, False).items() if kind != "vector"}
            if fields
            else {}
        )
        if fields and read_fields(typed) != own:
            raise ValueError(f"{out} has other fields already; leave --fields out, or choose another --out")
        if embed and embed not in [one.made.name for one in target.encoders.values()]:
            raise ValueError(f"{out} was made without the encoder {embed}; choose another --out")
    else:
        declared = _declared(fields, sql is None and Path(source).is_dir())
        if not Path(source).exists() and sql is None:
            raise FileNotFoundError(f"no documents at {source}")
        analyser = Analyser(None if language == "none" else language)
        if embed and "vector" not in declared.values():
            declared["meaning"] = "vector"
        target = Index.create(out, declared, id=id, analyser=analyser, encoder=embed)
    documents = read_documents(source, sql=sql, fields=target.fields)
    with target:
        added = target.update(documents, on_error="skip" if skip_errors else "raise")
        if compact:
            target.compact()
        else:
            target.commit()
    if json:
        skipped = [skip._asdict() for skip in added.skipped]
        print(dumps({"index": out, "added": added.documents, "skipped": skipped, "documents": len(target)}))
        return
    print(f"{added.documents:,} documents added or updated, {len(target):,} in {out}")
    for skip in added.skipped[:10]:
        print(f"  skipped number {skip.number}: {skip.reason}")
    if len(added.skipped) > 10:
        print(f"  ... and {len(added.skipped) - 10} more")


def _declared(fields: str | None, folder: bool) -> dict[str, str]:
    """The fields as typed; a folder of files has a title and a body."""
    if fields is None:
        if folder:
            return {"title": "text", "body": "text"}
        raise ValueError("a new index needs --fields, as in --fields title:text,price:number")
    declared = {}
    for part in fields.split(","):
        name, colon, kind = part.strip().partition(":")
        if not colon:
            raise ValueError(f"--fields takes name:kind pairs, got {part!r}; as in title:text,price:number")
        declared[name.strip()] = kind.strip()
    return declared
