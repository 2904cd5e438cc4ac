"""The reference of the commands, as Typer writes it from their signatures and docstrings."""

import html
import re

import typer
from typer.cli import get_docs_for_click

from rankloop.cli import app

__all__ = ["page"]


def page() -> str:
    """The Markdown of all commands; `<x>` in a help text is a word, not a tag."""
    command = typer.main.get_command(app)
    for one in command.commands.values():  # type: ignore[attr-defined]
        one.short_help = (one.help or "").partition("\n\n")[0].replace("\n", " ")  # Typer cuts it otherwise
    context = typer.Context(command, info_name="rankloop")
    text = get_docs_for_click(obj=command, ctx=context, name="rankloop", title="Commands")
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    return "".join(part if n % 2 else html.escape(part, quote=False) for n, part in enumerate(parts))
