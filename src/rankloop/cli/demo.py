"""`rankloop demo`: the loop on data that is on every machine."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path | None, typer.Option("--out", help="A folder to keep the index in.")] = None,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON at the end.")] = False,
) -> None:
    """Search the Python standard library by what you want to do, and watch a ranker learn from clicks."""
    import json as json_text

    from rankloop.demo import tell

    story = tell(out=out, seed=seed)
    if json:
        typer.echo(json_text.dumps({"seconds": story.seconds, "numbers": story.numbers}))
