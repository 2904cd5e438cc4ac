"""`rankloop datasets`: the public sets by name."""

import json
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Json
from rankloop.cli.options.help import Group

__all__ = ["datasets", "get_dataset", "list_datasets", "show_dataset"]

datasets = typer.Typer(
    help="Public data sets: list them, show one, get one.", no_args_is_help=True, cls=Group
)

_Name = Annotated[str, typer.Argument(help="A name from `rankloop datasets list`.")]


@datasets.command("list")
def list_datasets(as_json: Json = False) -> None:
    """List the sets of the catalogue, and which are on this machine."""
    from rankloop.data import catalog

    rows = [_row(name) for name in catalog.names()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rankloop._table import Table

    cells = [
        (
            row["name"],
            row["kind"],
            "yes" if row["folder"] else "no" if row["downloads"] else "no, get it by hand",
            row["title"],
        )
        for row in rows
    ]
    typer.echo(Table(("name", "kind", "on this machine", "what"), cells, left=4).text())


@datasets.command("show")
def show_dataset(name: _Name, as_json: Json = False) -> None:
    """Show licence, origin and checksums of one set, and how to get and read it."""
    row = _row(name)
    if as_json:
        typer.echo(json.dumps(row, indent=2))
        return
    facts = {
        "name": row["name"],
        "what": row["title"],
        "shape": row["shape"],
        "licence": row["licence"],
        "origin": row["origin"],
        "how to get it": row["how"],
        "how to read it": f'rankloop.data.catalog.load("{name}", "{row["parts"][0]}")',
        "parts": ", ".join(row["parts"]),
        "on this machine": row["folder"] or "no",
    }
    for field, value in facts.items():
        typer.echo(f"{field:<16} {value}")
    for file, digest in row["checksums"].items() or [("not known", "")]:
        typer.echo(f"{'sha256':<16} {file} {digest}".rstrip())


@datasets.command("get")
def get_dataset(name: _Name, as_json: Json = False) -> None:
    """Download one set, check it, and print its folder."""
    from rankloop.data import catalog

    folder = str(catalog.get(name))
    typer.echo(json.dumps({"name": name, "folder": folder}) if as_json else folder)


def _row(name: str) -> dict[str, Any]:
    from rankloop.data import catalog

    folder = catalog.find(name)
    return catalog.entry(name).to_dict() | {"folder": None if folder is None else str(folder)}
