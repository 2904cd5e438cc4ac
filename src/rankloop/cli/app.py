"""The whole command line."""

from rankloop.cli.options.apps import COMMANDS, app_with

__all__ = ["app"]

app = app_with(COMMANDS)
