"""The command line, whole or with the one command that is asked for."""

from importlib import import_module
from typing import Annotated

import typer

from rankloop.cli.options.help import Commands

__all__ = ["COMMANDS", "app_with"]

_MODELS = ("evaluate", "compare", "fuse", "train", "predict", "explain", "tune")
_LOOP = ("index", "search", "delete", "serve", "learn", "simulate", "online", "interleave", "report")
_FILES = ("convert", "shard", "export", "deploy", "check", "backup", "restore")
_GROUPS = ("clicks", "datasets", "encoders", "users")
COMMANDS = ("demo", *_MODELS, *_LOOP, *_FILES, *_GROUPS)  # in the order in which the help has them


def app_with(names: tuple[str, ...]) -> typer.Typer:
    """The commands with these names: each is a function, or a group, in its module of the same name."""
    app = typer.Typer(
        name="rankloop",
        help="Learning to rank, end to end.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its brackets would be swallowed
        cls=Commands,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_root)
    for name in names:
        command = getattr(import_module(f"rankloop.cli.{name}"), name)
        if name in _GROUPS:
            app.add_typer(command, name=name)
        else:
            app.command()(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        import rankloop

        typer.echo(f"rankloop {rankloop.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Learning to rank, end to end."""
