"""`rankloop index`: documents into an index."""

from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.arguments import Json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from rankloop.engines import Engine
    from rankloop.search import Field, Index
    from rankloop.search.index.added import Added
    from rankloop.search.read_documents import Unreadable

__all__ = ["index"]


def index(
    source: Annotated[str, typer.Argument(help="JSONL, CSV, Parquet, a folder, or a database with --sql.")],
    out: Annotated[
        str,
        typer.Option(
            "--into",
            "--out",
            "-o",
            help="The index: created, or updated if it exists; or an engine, as in opensearch://host:9200/shop.",
        ),
    ],
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            help="Like title:text,genre:keyword,price:number,embedding:vector:384; by default inferred.",
        ),
    ] = None,
    id: Annotated[str, typer.Option("--id", help="The field that identifies a document.")] = "id",
    language: Annotated[
        str, typer.Option("--language", help="Language of stop words and stemmer; none turns both off.")
    ] = "english",
    embed: Annotated[
        str | None,
        typer.Option(
            help="Search by meaning too: an encoder (rankloop encoders list), or a folder with one."
        ),
    ] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="The query whose rows are the documents.")] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", help="Of a JSONL or CSV file; cp1252 for many spreadsheets.")
    ] = "utf-8",
    html: Annotated[bool, typer.Option("--html", help="Texts are HTML: leave the markup out.")] = False,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Leave invalid documents out and report them.")
    ] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merge everything into one segment at the end.")
    ] = False,
    json: Json = False,
) -> None:
    """Put documents into an index; documents that are in it already are updated.

    rankloop index shop.jsonl --out shop.index

    rankloop index shop.jsonl --out shop.index --fields title:text,price:number

    rankloop index export.csv --out shop.index --id sku --encoding cp1252 --html

    rankloop index shop.jsonl --into "opensearch://localhost:9200/shop?local=shop.index" --fields title:text

    rankloop index shop.jsonl --out shop.index --fields title:text --embed minilm
    """
    from json import dumps
    from pathlib import Path

    from rankloop.cli.options.documents import Seen, inferred
    from rankloop.cli.options.target import local_index, remote_engine
    from rankloop.engines.remote.address import is_address
    from rankloop.search import Analyser, Index, read_documents

    schema = ""

    def read(fields: "Mapping[str, Field] | None" = None) -> "Iterator[Mapping[str, Any] | Unreadable]":
        return read_documents(source, sql=sql, fields=fields, encoding=encoding, html=html)

    def declared() -> dict[str, str]:
        nonlocal schema
        if not Path(source).exists() and sql is None:
            raise FileNotFoundError(f"there is no file {source}")
        kinds = _declared(fields, sql is None and Path(source).is_dir())
        if kinds is None:
            table = sql is None and Path(source.removesuffix(".gz")).suffix.lower() in (".csv", ".tsv")
            kinds = inferred(source, read(), id, table=table)
            schema = ",".join(f"{name}:{kind}" for name, kind in kinds.items())
        return kinds if not embed or "vector" in kinds.values() else {**kinds, "meaning": "vector"}

    analyser = Analyser(None if language == "none" else language)
    on_error = "skip" if skip_errors else "raise"
    seen = Seen(id)

    def put(target: "Engine | Index") -> "Added":
        typed = _declared(fields, False) if fields else None
        if typed and _other_fields(typed, target):
            option = "--into" if is_address(out) else "--out"
            raise ValueError(
                f"{out} has other fields already; leave --fields out, or choose another {option}"
            )
        documents = seen.among(read(target.fields))
        if not isinstance(target, Index):
            return target.add(documents, on_error=on_error)
        with target:
            added = target.update(documents, on_error=on_error)
            if compact:
                target.compact()
            else:
                target.commit()
        return added

    opened: Engine | Index
    if is_address(out):
        if embed:
            raise ValueError("--embed is for an index on this machine; an engine is searched by words")
        if compact:
            raise ValueError("--compact is for an index on this machine; an engine merges segments itself")
        opened = remote_engine(out, declared, analyser, id)
        added = put(opened)
    else:
        with local_index(Path(out), declared, analyser, id, embed) as made:
            added = put(made)
            if not len(made):
                reason = f": {added.skipped[0].reason}" if added.skipped else ""
                raise ValueError(f"{source} has no document that can be indexed{reason}")
        opened = Index.open(out)
    missing = seen.nowhere(opened.fields) if added.documents else []
    if json:
        skipped = [skip._asdict() for skip in added.skipped]
        facts = {"index": out, "added": added.documents, "skipped": skipped, "documents": len(opened)}
        print(dumps({**facts, "inferred": schema or None, "nowhere": missing}))
        return
    if schema:
        print(f"fields, inferred from the first documents (declare them with --fields): {schema}")
        if unused := seen.unused(opened.fields):
            print(f"stored with the documents and not searched by: {', '.join(unused)}")
    print(f"{added.documents:,} documents added or updated, {len(opened):,} in {out}")
    for name in missing:
        print(seen.warning(name))
    for skip in added.skipped[:10]:
        print(f"  skipped number {skip.number}: {skip.reason}")
    if len(added.skipped) > 10:
        print(f"  ... and {len(added.skipped) - 10} more")


def _other_fields(typed: dict[str, str], target: "Engine | Index") -> bool:
    """Whether the fields that were typed are not those of the target; vectors of its encoders are its own."""
    from rankloop.search import Index
    from rankloop.search.field import read_fields

    made = set(target.encoders) if isinstance(target, Index) else set()
    own = {name: field for name, field in target.fields.items() if name not in made}
    return read_fields({name: kind for name, kind in typed.items() if name not in made}) != own


def _declared(fields: str | None, folder: bool) -> dict[str, str] | None:
    """The fields as typed; a folder of files has a title and a body. None where they are to be inferred."""
    if fields is None:
        return {"title": "text", "body": "text"} if folder else None
    declared = {}
    for part in fields.split(","):
        name, colon, kind = part.strip().partition(":")
        if not colon:
            raise ValueError(f"--fields takes name:kind pairs, got {part!r}; as in title:text,price:number")
        declared[name.strip()] = kind.strip()
    return declared
