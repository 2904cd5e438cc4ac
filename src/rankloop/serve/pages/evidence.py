"""Panels about rankers: versions, their metrics, learning runs, feature importance."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.data import RankingDataset
from rankloop.rankers import Ranker, contributions
from rankloop.report import importance_picture, metric_intervals, position_curve
from rankloop.serve.events.sample import sampled_features
from rankloop.serve.pages.behind import behind_href
from rankloop.serve.pages.colours import colours_of
from rankloop.serve.pages.panels import Cell, Head, Panel, drawn, table, version_cell
from rankloop.serve.pages.rendering import count, moment, percent
from rankloop.serve.pages.traffic import ENOUGH

if TYPE_CHECKING:
    from rankloop.serve.events.sums import DaySum
    from rankloop.serve.learning.record import LearningRun
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["curve_of", "feature_importance", "learning", "metrics", "name_of", "propensity", "versions"]

LAST = 100  # pages whose features are used
FEW = 20  # documents, and permutations of features, where contributions are sampled


def name_of(version: "Version") -> str:
    """The name of a version beside its number."""
    return str(version.lineage.get("name") or version.lineage.get("made") or "")[:60]


def versions(known: "Sequence[Version]", rows: "Sequence[DaySum]", days: int, *, changing: bool) -> Panel:
    """All versions, with their pages and clicks, and against production on the days when both served."""
    production = next((one.version for one in known if one.role == "production"), "")
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
            Head(f"Against {production}, same days", True),
            *([Head("Change")] if changing else []),
        ),
        rows=table(
            (
                version_cell(one.version),
                name_of(one),
                Cell("", tag=one.role) if one.role else "",
                moment(one.time),
                Cell(count(pages.get(one.version, (0, 0))[0]), href=behind_href(days, version=one.version)),
                percent(_rate(pages.get(one.version, (0, 0)))),
                _same_days(rows, one.version, production),
                *([_promote(one)] if changing else []),
            )
            for one in reversed(known)
        ),
        broad=True,
    )


def metrics(known: "Sequence[Version]") -> Panel | None:
    """The metrics that were measured when a version was made."""
    found = {
        f"{one.version} {name_of(one)}": {str(name): value for name, value in measured.items()}
        for one in known
        if isinstance(measured := one.lineage.get("metrics"), Mapping) and measured
    }
    if not found:
        return None
    drawing = metric_intervals(
        {name: _tuples(measured) for name, measured in found.items()},
        colours=colours_of(found),
        title="",
        note="",
    )
    return Panel(
        "metrics",
        "Metrics by version",
        "As measured when each version was made, with 95\N{NO-BREAK SPACE}% intervals.",
        drawn(drawing, "Metrics by version"),
        broad=True,
    )


def propensity(known: "Sequence[Version]") -> Panel:
    """The propensity curve of the newest learned version."""
    title = "Examination by rank"
    for one in reversed(known):
        if (curve := curve_of(one)) is not None:
            text = (
                f"Relative to the first rank, as {one.version} was learned with; bands are "
                "95\N{NO-BREAK SPACE}% intervals, too wide if the true curve is a power of the rank."
            )
            return Panel("propensity", title, text, drawn(position_curve(curve, title="", note=""), title))
    return Panel("propensity", title, "Estimated when a ranker is learned from clicks.")


def curve_of(version: "Version") -> tuple[Floats, ...] | None:
    """How likely each rank is seen, with its ends, as a version was learned with; None for others."""
    saved = version.lineage.get("propensity")
    if not isinstance(saved, Mapping) or not saved.get("values"):
        return None
    return tuple(np.array(saved.get(part, saved["values"]), float) for part in ("values", "low", "high"))


def learning(known: "Sequence[LearningRun]") -> Panel:
    """The results of the last learning runs."""
    return Panel(
        "learning",
        "Learning",
        ""
        if known
        else "The service has not learned from clicks yet. A button on the page Loop starts it, "
        "as rankloop learn does.",
        heads=(Head("Started", whole=True), Head("Result"), Head("Version"), Head("Why"), Head("Report")),
        rows=table(
            (
                moment(one.started),
                Cell("", tag=one.state),
                version_cell(one.version) if one.version else "",
                str(one.record.get("message", "")),
                _report(one.report),
            )
            for one in known
        ),
        alarm=_warnings(known),
        broad=True,
    )


def _warnings(known: "Sequence[LearningRun]") -> str:
    """What the last run that ended warned of."""
    last = next((one for one in known if one.state != "running"), None)
    warnings = [str(one).rstrip(".") for one in last.record.get("warnings", ())] if last is not None else []
    if last is not None and last.state == "failed":
        warnings.insert(0, str(last.record.get("message") or "the last run failed").rstrip("."))
    return "; ".join(warnings)[:1].upper() + "; ".join(warnings)[1:] + "." if warnings else ""


def _same_days(rows: "Sequence[DaySum]", version: str, production: str) -> str:
    """The difference in pages with a click on days when both served, weighted by what the days tell."""
    if version == production:
        return "\N{EN DASH}"
    shares = {
        name: {
            one.day: (one.clicked_pages / one.pages, one.pages)
            for one in rows
            if one.ranker == name and one.pages >= ENOUGH
        }
        for name in (version, production)
    }
    both = [
        (mine - theirs, 1 / (1 / pages + 1 / others))
        for day, (mine, pages) in shares[version].items()
        for theirs, others in ([shares[production][day]] if day in shares[production] else [])
    ]
    if not both:
        return "\N{EN DASH}"
    gaps, weights = np.array(both).T
    days = f"{len(both)} {'day' if len(both) == 1 else 'days'}"
    return f"{100 * float(gaps @ weights) / float(weights.sum()):+.1f} % on {days}".replace(
        "-", "\N{MINUS SIGN}"
    )


def feature_importance(service: "Service") -> Panel:
    """The mean absolute contribution of each feature to the scores of the last pages."""
    title = "Feature importance"
    production = str(service.versions.live.roles.production)
    model = service.versions.model(production)
    names = model.pipeline.features.names
    pages = sampled_features(service.store, names, LAST)
    if not pages:
        return Panel("features", title, "No page with features was shown yet.")
    size = _contribution(model.pipeline.ranker, pages, names)
    moving = [(name, value) for name, value in zip(names, size.tolist(), strict=True) if value > 0]
    if not moving:
        return Panel("features", title, "No feature changes the scores of the last pages.")
    drawing = importance_picture(tuple(zip(*moving, strict=True)), k=12, title="")
    text = f"Mean contribution of each feature to the scores of {production} on the last {len(pages)} pages."
    return Panel("features", title, text, drawn(drawing, title))


def _contribution(ranker: Ranker, pages: list[Singles], names: Sequence[str]) -> Floats:
    """The mean absolute contribution of each feature; on a few documents where it has to be sampled."""
    page = np.repeat(np.arange(len(pages)), [len(rows) for rows in pages])
    data = RankingDataset(np.vstack(pages), np.zeros(len(page)), page, feature_names=tuple(names))
    few = np.linspace(0, len(page) - 1, FEW).astype(np.int64)
    parts = contributions(ranker, data, rows=few, samples=FEW)
    if parts.exact:
        parts = contributions(ranker, data)
    size: Floats = np.abs(parts.values - parts.values.mean(axis=0)).mean(axis=0)
    return size


def _promote(version: "Version") -> Cell:
    if version.role == "production":
        return Cell("")
    return Cell("Promote", href=f"/dashboard/promote?version={quote(version.version)}")


def _report(name: str | None) -> Cell:
    return Cell("report", href=f"/reports/{quote(name, safe='')}") if name else Cell("")


def _rate(counts: tuple[int, int]) -> float | None:
    return counts[1] / counts[0] if counts[0] else None


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
