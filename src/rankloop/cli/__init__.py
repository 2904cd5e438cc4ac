"""One thin command per verb."""

import gc
import sys
from typing import TYPE_CHECKING, Any

from rankloop.cli.options.help import in_one_sentence

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    from rankloop.cli.options.apps import COMMANDS, app_with

    gc.set_threshold(100_000)  # collecting while numba loads costs a tenth of a second
    wanted = tuple(sys.argv[1:2])
    with in_one_sentence():
        if {*wanted} & {*COMMANDS}:
            app_with(wanted)()  # the others are not loaded, which takes a tenth of a second too
        else:
            sys.modules[__name__].app()


def __getattr__(name: str) -> Any:
    """`app` has all commands, and is made when it is first used."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rankloop.cli.options.apps import COMMANDS, app_with

    made = globals()["app"] = app_with(COMMANDS)
    return made
