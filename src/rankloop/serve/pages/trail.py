"""The panel of what was changed, by whom, and when."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankloop.serve.pages.panels import Head, Panel, table
from rankloop.serve.pages.rendering import moment

if TYPE_CHECKING:
    from rankloop.serve.desk.acts import Act

__all__ = ["trail"]


def trail(past: "Sequence[Act]") -> Panel:
    """The last changes."""
    return Panel(
        "trail",
        "Who changed what",
        "" if past else "Nothing was changed yet.",
        heads=(Head("When", whole=True), Head("Who"), Head("What"), Head("Details")),
        rows=table((moment(one.time), one.who, one.act, _details(one)) for one in past),
        broad=True,
    )


def _details(one: "Act") -> str:
    """The details as text, with a change of production last."""
    given = {name: value for name, value in one.detail.items() if value not in (None, "")}
    before, after = given.pop("before", None), given.pop("after", None)
    parts = [f"{name} {value}" for name, value in given.items()]
    if before != after:
        parts.append(f"production {before} \N{RIGHTWARDS ARROW} {after}")
    return ", ".join(parts)
