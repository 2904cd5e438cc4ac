"""`rankloop encoders`: pretrained text encoders by name."""

import json
from typing import Annotated

import typer

from rankloop.cli.options.arguments import Json
from rankloop.cli.options.help import Group

__all__ = ["encoders", "get_encoder", "list_encoders"]

encoders = typer.Typer(help="Pretrained text encoders: list them, get one.", no_args_is_help=True, cls=Group)


@encoders.command("list")
def list_encoders(as_json: Json = False) -> None:
    """List the available encoders, and which are on this machine."""
    from rankloop.search.encoders import ENCODERS, find_encoder

    rows = []
    for one in ENCODERS.values():
        folder = find_encoder(one.name)
        rows.append(
            {
                "name": one.name,
                "title": one.title,
                "licence": one.licence,
                "megabytes": one.megabytes,
                "folder": None if folder is None else str(folder),
            }
        )
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rankloop._table import Table

    cells = [
        (str(row["name"]), "yes" if row["folder"] else "no", f"{row['megabytes']} MB", str(row["title"]))
        for row in rows
    ]
    typer.echo(Table(("name", "on this machine", "size", "what"), cells, left=4).text())


@encoders.command("get")
def get_encoder(
    name: Annotated[str, typer.Argument(help="A name from `rankloop encoders list`.")], as_json: Json = False
) -> None:
    """Download one encoder, check it, and print its folder."""
    from rankloop.search.encoders import get_encoder as fetched

    folder = str(fetched(name))
    typer.echo(json.dumps({"name": name, "folder": folder}) if as_json else folder)
