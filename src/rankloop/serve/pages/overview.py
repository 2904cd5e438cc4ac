"""The dashboard as panels."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankloop.serve.desk.acts import past_acts
from rankloop.serve.learning.record import runs
from rankloop.serve.pages import evidence, traffic
from rankloop.serve.pages.behind import behind_href
from rankloop.serve.pages.drift import drift
from rankloop.serve.pages.experiments import experiments
from rankloop.serve.pages.online import online, stopped_learners
from rankloop.serve.pages.panels import Number, Panel
from rankloop.serve.pages.rendering import count, duration, percent
from rankloop.serve.pages.scheduled import failures
from rankloop.serve.pages.trail import trail

if TYPE_CHECKING:
    from rankloop.serve.events.sums import DaySum
    from rankloop.serve.service import Service

__all__ = ["Overview", "overview"]

DAY = 86_400.0
QUERIES, RUNS, ACTS = 10, 8, 20  # in a table
MARKS = 200  # changes that are looked through for promotions


@dataclass(frozen=True)
class Overview:
    """The dashboard of the last days."""

    days: int
    figures: list[Number]
    panels: list[Panel]
    troubles: tuple[str, ...]


def overview(service: "Service", days: int, *, changing: bool = False) -> Overview:
    """The panels of the last `days`; with `changing`, with buttons beside versions and experiments.

    Each panel is one query of the store, the registry or the experiments.
    """
    since = time.time() - days * DAY
    store, versions = service.store, service.registry.versions()
    daily = store.daily(since=since)
    panels = [
        traffic.by_position(store.by_position(since=since), days),
        evidence.propensity(versions),
        traffic.by_day(daily, past_acts(store, MARKS, since=since)),
        evidence.versions(versions, daily, days, changing=changing),
        evidence.metrics(versions),
        experiments(service, versions, changing=changing),
        online(service, versions, changing=changing),
        evidence.learning(runs(store, RUNS)),
        traffic.worst(store.worst_queries(n=QUERIES, since=since), days),
        traffic.slowest(store.slowest_queries(n=QUERIES, since=since), days),
        evidence.feature_importance(service),
        drift(service, daily, since),
        trail(past_acts(store, ACTS)),
    ]
    return Overview(
        days,
        _figures(service, daily, days),
        [one for one in panels if one is not None],
        (*service.readiness().troubles, *stopped_learners(service, since), *failures(service)),
    )


def _figures(service: "Service", daily: "Sequence[DaySum]", days: int) -> list[Number]:
    pages = sum(one.pages for one in daily)
    clicks = sum(one.clicks for one in daily)
    clicked = sum(one.clicked_pages for one in daily)
    timed = sum(one.timed for one in daily)
    seconds = sum(one.seconds * one.timed for one in daily)
    production = service.registry.version(str(service.versions.live.roles.production))
    return [
        Number("Pages shown", count(pages), href=behind_href(days)),
        Number(
            "Pages with a click",
            percent(clicked / pages if pages else None),
            href=behind_href(days, clicked=1),
        ),
        Number("Clicks", count(clicks), f"{clicks / pages:.2f} a page" if pages else ""),
        Number("Time to answer", duration(seconds / timed) if timed else "\N{EN DASH}", "on average"),
        Number(
            "In production",
            production.version,
            evidence.name_of(production),
            behind_href(days, version=production.version),
            production.version,
        ),
    ]
