"""The panel of versions that learn while they serve."""

import json
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from rankloop.serve.events.desk_tables import learners
from rankloop.serve.online.settings import OnlineSettings
from rankloop.serve.pages.panels import Cell, Head, Panel, table, version_cell
from rankloop.serve.pages.rendering import count, moment, signed

if TYPE_CHECKING:
    from rankloop.interleaving import ABVerdict
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["online", "stopped_learners"]

MOST = 24  # versions that the form offers, the newest
ABOUT = (
    "A learner changes with the clicks on its own pages. Some people always get the version below which it "
    "may not fall; where they click more, by an interval that holds at every look, that version serves again."
)


def online(service: "Service", known: "Sequence[Version]", *, changing: bool) -> Panel:
    """Every learner with what it has learned, beside the version that it may not fall below."""
    rows = _rows(service)
    shown = [(one, made) for one in reversed(known) if (made := OnlineSettings.of(one.lineage)) is not None]
    fixed = [one.version for one in known if OnlineSettings.of(one.lineage) is None][-MOST:]
    return Panel(
        "online",
        "Learning while serving",
        ABOUT if shown else "No version learns while it serves.",
        heads=(
            Head("Version"),
            Head("Learner"),
            Head("Never below"),
            Head("Pages learned from", True),
            Head("Pages with a click, against it", True),
            Head("State"),
        ),
        rows=table(
            (
                version_cell(one.version),
                settings.learner + (f" among {', '.join(settings.arms)}" if settings.chooses else ""),
                version_cell(settings.floor),
                count(rows[one.version]["state"]["pages"]) if one.version in rows else "0",
                _difference(service, one, rows),
                _state(one, rows.get(one.version)),
            )
            for one, settings in shown
        ),
        form="online_form.html" if changing else "",
        versions=tuple(fixed),
        broad=True,
    )


def stopped_learners(service: "Service", since: float) -> list[str]:
    """What the alarm stopped lately, in sentences."""
    rows = _rows(service).items()
    return [
        f"{version}, which learns while it serves, was rolled back on {moment(row['stopped'])} UTC: "
        f"{row['reason']}."
        for version, row in rows
        if row["stopped"] is not None and row["stopped"] >= since
    ]


def _rows(service: "Service") -> dict[str, Any]:
    with service.store.reading() as connection:
        found = connection.execute(select(learners)).mappings().all()
    return {row["version"]: {**row, "state": json.loads(row["state"])} for row in found}


def _difference(service: "Service", one: "Version", rows: dict[str, Any]) -> str:
    if one.version not in rows or rows[one.version]["stopped"] is not None:
        return "\N{EN DASH}"
    found: ABVerdict | None = service.versions.learners.verdict(service.versions.model(one.version))
    if found is None or not isfinite(found.difference):
        return "\N{EN DASH}"
    return f"{signed(found.difference)} [{signed(found.low)}, {signed(found.high)}]"


def _state(one: "Version", row: Any) -> Cell:
    if row is None:
        return Cell("has not served yet")
    if row["stopped"] is not None:
        return Cell(f"rolled back on {moment(row['stopped'])}: {row['reason']}")
    serves = one.role in ("production", "canary")
    return Cell(f"learning since {moment(row['started'])}" if serves else "does not serve now")
