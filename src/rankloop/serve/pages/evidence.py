"""Panels about rankers: what is known of each version, how they were learned, what they look at."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from rankloop.data import RankingDataset
from rankloop.rankers import Ranker, contributions
from rankloop.report import importance_picture, metric_intervals, position_curve
from rankloop.serve.events.sample import sampled_features
from rankloop.serve.pages.panels import Cell, Head, Panel, drawn, table
from rankloop.serve.pages.rendering import count, moment, percent

if TYPE_CHECKING:
    from rankloop.serve.events.sums import DaySum
    from rankloop.serve.learning.record import LearningRun
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["learning", "looked_at", "metrics", "name_of", "propensity", "versions"]

LATELY = 100  # pages whose features are looked at
FEW = 20  # documents, and orders of features, where shares are drawn at random


def name_of(version: "Version") -> str:
    """What a version is called beside its number."""
    told = version.lineage.get("name") or version.lineage.get("made") or ""
    return str(told)[:60]


def versions(known: "Sequence[Version]", rows: "Sequence[DaySum]", *, changing: bool) -> Panel:
    """All versions, with how their pages did."""
    pages: dict[str, tuple[int, int]] = {}
    for one in rows:
        shown, clicked = pages.get(one.ranker, (0, 0))
        pages[one.ranker] = shown + one.pages, clicked + one.clicked_pages
    return Panel(
        "versions",
        "Versions",
        heads=(
            Head("Version"),
            Head("Name"),
            Head("Role"),
            Head("Made", whole=True),
            Head("Pages", True),
            Head("With a click", True),
            *([Head("")] if changing else []),
        ),
        rows=table(
            (
                one.version,
                name_of(one),
                Cell("", tag=one.role) if one.role else "",
                moment(one.time),
                count(pages.get(one.version, (0, 0))[0]),
                percent(_rate(pages.get(one.version, (0, 0)))),
                *([_promote(one)] if changing else []),
            )
            for one in reversed(known)
        ),
        broad=True,
    )


def metrics(known: "Sequence[Version]") -> Panel | None:
    """The metrics that were measured when a version was made."""
    found = {
        f"{one.version} {name_of(one)}": {str(name): value for name, value in told.items()}
        for one in known
        if isinstance(told := one.lineage.get("metrics"), Mapping) and told
    }
    if not found:
        return None
    drawing = metric_intervals({name: _tuples(told) for name, told in found.items()}, title="", note="")
    return Panel(
        "metrics",
        "Metrics by version",
        "As measured when each version was made, with 95 % intervals.",
        drawn(drawing, "Metrics by version"),
        broad=True,
    )


def propensity(known: "Sequence[Version]") -> Panel:
    """How likely each rank is to be seen, as the newest learned version knows it."""
    title = "How likely each rank is seen"
    for one in reversed(known):
        told = one.lineage.get("propensity")
        if isinstance(told, Mapping) and told.get("values"):
            curve = tuple(
                np.array(told.get(part, told["values"]), float) for part in ("values", "low", "high")
            )
            said = f"Relative to the first, as {one.version} was learned with; bands are 95 % intervals."
            return Panel("propensity", title, said, drawn(position_curve(curve, title="", note=""), title))
    return Panel("propensity", title, "It is estimated when a ranker is learned from the clicks.")


def learning(known: "Sequence[LearningRun]") -> Panel:
    """What the last runs of learning came to."""
    return Panel(
        "learning",
        "Learning",
        "" if known else "No ranker was learned from the clicks yet: rankloop learn does it.",
        heads=(Head("Started", whole=True), Head("Came to"), Head("Version"), Head("Why"), Head("Report")),
        rows=table(
            (
                moment(one.started),
                Cell("", tag=one.state),
                one.version or "",
                str(one.record.get("said", "")),
                _report(one.report),
            )
            for one in known
        ),
        broad=True,
    )


def looked_at(service: "Service") -> Panel:
    """How far each feature moves the scores of pages shown lately: the mean size of its share."""
    title = "What the ranker looks at"
    production = str(service.live.roles.production)
    model = service.model(production)
    names = model.pipeline.features.names
    pages = sampled_features(service.store, names, LATELY)
    if not pages:
        return Panel("features", title, "No page with its features was shown yet.")
    size = _moved(model.ranked.ranker, pages, names)
    moving = [(name, value) for name, value in zip(names, size.tolist(), strict=True) if value > 0]
    if not moving:
        return Panel("features", title, "No feature moves the scores of the last pages.")
    drawing = importance_picture(tuple(zip(*moving, strict=True)), k=12, title="")
    said = f"How far each feature moves the scores of {production} on the last {len(pages)} pages."
    return Panel("features", title, said, drawn(drawing, title))


def _moved(ranker: Ranker, pages: list[NDArray[np.float32]], names: Sequence[str]) -> NDArray[np.float64]:
    """The mean size of each feature's share; of a few documents where shares have to be drawn at random."""
    page = np.repeat(np.arange(len(pages)), [len(rows) for rows in pages])
    data = RankingDataset(np.vstack(pages), np.zeros(len(page)), page, feature_names=tuple(names))
    few = np.linspace(0, len(page) - 1, FEW).astype(np.int64)
    parts = contributions(ranker, data, rows=few, samples=FEW)
    if parts.exact:
        parts = contributions(ranker, data)
    size: NDArray[np.float64] = np.abs(parts.values - parts.values.mean(axis=0)).mean(axis=0)
    return size


def _promote(version: "Version") -> Cell:
    if version.role == "production":
        return Cell("")
    return Cell("Promote", action="/dashboard/promote", name="version", value=version.version)


def _report(name: str | None) -> Cell:
    return Cell("report", href=f"/reports/{quote(name, safe='')}") if name else Cell("")


def _rate(told: tuple[int, int]) -> float | None:
    return told[1] / told[0] if told[0] else None


def _tuples(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
