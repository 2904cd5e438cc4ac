"""`rankloop demo`: the loop on data that is on every machine, then the page in a browser."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    name: Annotated[
        str, typer.Argument(help="stdlib: search Python by what you want to do; or movies.")
    ] = "stdlib",
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the page at the end.")] = True,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder to keep everything in.")] = None,
    port: Annotated[int, typer.Option("--port", help="Of the page; 0 takes any that is free.")] = 8000,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the movies if they are not on this machine.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON at the end.")] = False,
) -> None:
    """Watch a search page learn from clicks, see the proof, and try it.

    rankloop demo

    rankloop demo movies --no-serve --out movies
    """
    import json as json_text

    from rankloop._extras import require

    require("Stemmer", "search")  # what is missing should not be found out half-way
    for module in ("sqlalchemy", "fastapi", "uvicorn", "jinja2", "prometheus_client"):
        require(module, "serve")
    from rankloop.demo import tell
    from rankloop.demo.conclusion import conclusion
    from rankloop.demo.report import report_of_story
    from rankloop.demo.service import prepare
    from rankloop.demo.service import serve as serve_page

    if serve:
        from rankloop.serve.http.process import listening

        listening("127.0.0.1", port).close()  # a port that is taken should not be found out at the end
    told = tell(name, out=out, seed=seed, download=download)
    with told.story.step("report", "the report") as found:
        page = told.folder / "report.html"
        report_of_story(told).save(page)
        found["at"] = str(page)
    settings, versions = prepare(told)
    typer.echo(f"{told.story.total:6.1f} s  in all; everything lies in {told.folder}")
    typer.echo(f"\nThe unbiased ranker on {told.test.n_queries} searches that nobody learned from:")
    for name, said in conclusion(told).items():
        typer.echo(f"  {name:<16} {said}")
    if json:
        typer.echo(json_text.dumps(told.story.to_dict()))
    if serve:
        serve_page(settings, versions, told, port)
    else:
        typer.echo(f"\nLook at: {page}\nTry it:  rankloop serve {settings}")
        typer.echo(f"Learn:   rankloop learn {settings}")
