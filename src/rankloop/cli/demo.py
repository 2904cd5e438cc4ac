"""`rankloop demo`: the whole loop on data that is on every machine, then the page in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import OpenBrowser

__all__ = ["demo"]


def demo(
    name: Annotated[
        str, typer.Argument(help="The data: stdlib (functions of Python, by what they do) or movies.")
    ] = "stdlib",
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the page at the end.")] = True,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder to keep everything in.")] = None,
    open_browser: OpenBrowser = False,
    port: Annotated[int, typer.Option("--port", help="Port of the page; 0 takes any free one.")] = 8000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the split and of the simulated people.")] = 0,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the movies if they are not on this machine.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON at the end.")] = False,
) -> None:
    """Watch a search page learn from clicks, see the comparisons, and try it.

    rankloop demo

    rankloop demo movies --no-serve --out movies
    """
    import json as json_text

    from rankloop._extras import MODULES, require_modules

    require_modules("Stemmer", *MODULES["serve"])  # missing extras are reported before the work starts
    from rankloop.demo import run_demo
    from rankloop.demo.report import demo_report
    from rankloop.demo.service import prepare, token_of_run
    from rankloop.demo.service import serve as serve_page
    from rankloop.demo.story import story

    if serve:
        from rankloop.serve.http.listening import listening

        listening("127.0.0.1", port).close()  # and so is a port that is taken
        token = token_of_run()
    done = run_demo(name, out=out, seed=seed, download=download)
    with done.steps.step("report", "the report") as found:
        page = done.folder / "report.html"
        demo_report(done).save(page)
        found["at"] = str(page)
    settings, versions = prepare(done)
    typer.echo(f"{done.steps.total:6.1f} s  in total; everything is in {done.folder}\n")
    typer.echo(story(done))
    if json:
        typer.echo(json_text.dumps(done.steps.to_dict()))
    if serve:
        serve_page(settings, versions, port, token, open_browser=open_browser)
    else:
        typer.echo(f"\nReport:  {page}\nTry it:  rankloop serve {settings}")
        typer.echo(f"Learn:   rankloop learn {settings}")
