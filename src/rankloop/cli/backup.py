"""`rankloop backup`: the index, models, store and secret of a service in one folder."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import Json, ServiceSource

__all__ = ["backup"]


def backup(
    source: ServiceSource,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the backup; it must be new.")],
    json: Json = False,
) -> None:
    """Copy everything a service needs, as of one moment and with checksums, while it serves.

    It holds the secret of the service and the searches of its users: protect it as you protect those. Tokens,
    keys and the TOML file are not in it, nor documents that only an engine has.

    rankloop backup shop.index --out backups/monday
    """
    from json import dumps

    from rankloop._extras import MODULES, require_modules

    require_modules(*MODULES["serve"])
    from rankloop.serve.backup.make import make_backup
    from rankloop.serve.config import Config

    found = make_backup(Config.read(source), out)
    if json:
        print(dumps({"backup": str(out), **found}))
        return
    print(
        f"{found['pages']:,} pages, {found['models']:,} models, {found['files']:,} files "
        f"({found['bytes'] / 1e6:,.1f} MB) in {out}"
    )
