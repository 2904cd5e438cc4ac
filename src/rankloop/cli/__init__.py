"""One thin command per verb."""

import gc
import sys

import typer

from rankloop.cli.compare import compare
from rankloop.cli.evaluate import evaluate

__all__ = ["app", "main"]

app = typer.Typer(
    name="rankloop",
    help="Learning to rank, end to end.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for command in (evaluate, compare):
    app.command()(command)


@app.callback()
def _root() -> None:
    """Learning to rank, end to end."""


def main() -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    gc.set_threshold(100_000, 50, 50)  # collecting while numba loads costs a tenth of a second
    try:
        app()
    except (ValueError, FileNotFoundError, ModuleNotFoundError) as error:
        typer.echo(f"rankloop: {error}", err=True)
        sys.exit(2)
