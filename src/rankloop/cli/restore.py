"""`rankloop restore`: a backup of a service put back."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import Json

__all__ = ["restore"]


def restore(
    backup: Annotated[Path, typer.Argument(help="The folder that rankloop backup wrote.")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|INDEX|ENGINE",
            help="The service to restore to: a TOML file, the new path of the index, or an engine.",
        ),
    ],
    database: Annotated[
        str | None,
        typer.Option(help="An empty database, as in postgresql://user@host/shop; by default SQLite."),
    ] = None,
    json: Json = False,
) -> None:
    """Check a backup, and restore it to a new place; a service started there continues where it stopped.

    A backup of SQLite can be restored to PostgreSQL, and the other way round.

    rankloop restore backups/monday shop.index
    """
    from json import dumps

    from rankloop._extras import MODULES, require_modules
    from rankloop.engines.remote.address import is_address

    require_modules(*MODULES["serve"])
    from rankloop.serve.backup.restore import restore_backup
    from rankloop.serve.config import Config

    known = is_address(target) or Path(target).suffix.lower() == ".toml"
    config = Config.read(target) if known else Config(index=target).with_environment()
    found = restore_backup(backup, config if database is None else config.but(database=database))
    if json:
        print(dumps({"restored": str(config.index), "folder": str(config.home), **found}))
        return
    print(f"{found['pages']:,} pages and {found['models']:,} models restored to {config.home}")
    print(f"serve it: rankloop serve {target}")
