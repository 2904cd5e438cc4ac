"""One thin command per verb."""

import gc
from typing import Annotated

import typer

from rankloop.cli.backup import backup
from rankloop.cli.check import check
from rankloop.cli.clicks import clicks
from rankloop.cli.compare import compare
from rankloop.cli.convert import convert
from rankloop.cli.datasets import datasets
from rankloop.cli.delete import delete
from rankloop.cli.demo import demo
from rankloop.cli.deploy import deploy
from rankloop.cli.encoders import encoders
from rankloop.cli.evaluate import evaluate
from rankloop.cli.explain import explain
from rankloop.cli.export import export
from rankloop.cli.fuse import fuse
from rankloop.cli.index import index
from rankloop.cli.interleave import interleave
from rankloop.cli.learn import learn
from rankloop.cli.online import online
from rankloop.cli.options.help import Commands, in_one_sentence
from rankloop.cli.predict import predict
from rankloop.cli.report import report
from rankloop.cli.restore import restore
from rankloop.cli.search import search
from rankloop.cli.serve import serve
from rankloop.cli.shard import shard
from rankloop.cli.simulate import simulate
from rankloop.cli.train import train
from rankloop.cli.tune import tune
from rankloop.cli.users import users

__all__ = ["app", "main"]

app = typer.Typer(
    name="rankloop",
    help="Learning to rank, end to end.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its brackets would be swallowed
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import rankloop

        typer.echo(f"rankloop {rankloop.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Learning to rank, end to end."""


_MODELS = (evaluate, compare, fuse, train, predict, explain, tune)
_LOOP = (index, search, delete, serve, learn, simulate, online, interleave, report)
for command in (demo, *_MODELS, *_LOOP, convert, shard, export, deploy, check, backup, restore):
    app.command()(command)
app.add_typer(clicks, name="clicks")
app.add_typer(datasets, name="datasets")
app.add_typer(encoders, name="encoders")
app.add_typer(users, name="users")


def main() -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    gc.set_threshold(100_000)  # collecting while numba loads costs a tenth of a second
    with in_one_sentence():
        app()
