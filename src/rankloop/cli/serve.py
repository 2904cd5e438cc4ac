"""`rankloop serve`: a search page and an API over an index, which learn from clicks."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import OpenBrowser, ServiceSource

__all__ = ["serve"]


def serve(
    source: ServiceSource,
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
        str | None, typer.Option("--prefix", help="The path under which a proxy publishes it, as in /shop.")
    ] = None,
    open_browser: OpenBrowser = False,
) -> None:
    """Serve a search page and its API, log what people see and click, and learn from it.

    rankloop serve shop.index --port 8000

    rankloop serve "opensearch://localhost:9200/shop?local=shop.index"
    """
    from dataclasses import replace

    from rankloop._extras import MODULES, require_modules

    require_modules("Stemmer", *MODULES["serve"])
    from rankloop.serve.config import Config
    from rankloop.serve.http.process import run, run_workers

    config = Config.read(source)
    _mention_compiling()
    if prefix is not None:
        config = config.but(web=replace(config.web, prefix=prefix))
    if pipeline is not None:
        from rankloop.serve.models.adopt import adopt

        adopt(config, pipeline)
    if workers != 1:
        run_workers(
            source, host=host, port=port, workers=workers, open_browser=open_browser, prefix=config.web.prefix
        )
    else:
        run(config, host=host, port=port, open_browser=open_browser)


def _mention_compiling() -> None:
    """Print why the first start on a machine takes longer, before a silence in which a person gives up."""
    from rankloop.search.features.kernels import statistics

    cache: object = statistics._cache  # type: ignore[attr-defined] # what `rankloop._jit.kernel` put there
    if not getattr(cache, "on_disk", True):
        typer.echo("compiling the search for this machine, once; this takes half a minute or more", err=True)
