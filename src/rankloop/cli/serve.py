"""`rankloop serve`: a search page and an API over an index, which learn from clicks."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["serve"]


def serve(
    source: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|INDEX|ENGINE", help="A TOML file, an index, or opensearch://host:9200/shop."
        ),
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free port.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes on the port; at most one per core.")
    ] = 1,
    pipeline: Annotated[
        Path | None,
        typer.Option("--pipeline", help="A learned pipeline, its file or run folder, to serve from now on."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="The path under which a proxy shows it, as in /shop.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a search page and its API, log what people see and click, and learn from it.

    rankloop serve shop.index --port 8000

    rankloop serve "opensearch://localhost:9200/shop?local=shop.index"
    """
    from rankloop._extras import MODULES, require_modules

    require_modules(*MODULES["serve"])
    if prefix is not None:
        import os

        from rankloop.serve.web_settings import PREFIX_VARIABLE

        os.environ[PREFIX_VARIABLE] = prefix  # the workers read it too
    from rankloop.serve.config import Config
    from rankloop.serve.http.process import run, run_workers

    if pipeline is not None:
        from rankloop.serve.models.adopt import adopt

        adopt(Config.read(source), pipeline)
    if workers != 1:
        run_workers(source, host=host, port=port, workers=workers, open_browser=open_browser)
    else:
        run(Config.read(source), host=host, port=port, open_browser=open_browser)
