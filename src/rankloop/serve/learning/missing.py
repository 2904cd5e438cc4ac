"""What is missing until something can be learned, and until the gate can open."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import clicks, pages
from rankloop.serve.learning.run import LEAST_CLICKS, LEAST_QUERIES

if TYPE_CHECKING:
    from rankloop.serve.config import Config
    from rankloop.serve.events.store import Store
    from rankloop.serve.learning.record import LearningRun

__all__ = ["Traffic", "missing", "read_traffic_counts"]


@dataclass(frozen=True)
class Traffic:
    """Pages with results, and clicks on ranks that are learned from, in the window; crawlers left out."""

    pages: int
    people: int
    swapped: int
    clicks: int
    clicked_queries: int


def read_traffic_counts(store: "Store", *, since: float | None, until: float, depth: int) -> Traffic:
    """Counts of the window; learning leaves out a little more, such as people who search too often."""
    shown = (within(pages, since, until), pages.c.bot.is_(False), pages.c.shown > 0)
    person = func.coalesce(pages.c.user, pages.c.page_id)
    clicked = (within(clicks, since, until), clicks.c.bot.is_(False), clicks.c.position <= depth)
    with store.reading() as connection:
        counts = select(func.count(), func.count(person.distinct())).where(*shown)
        number, people = connection.execute(counts).one()
        swaps = select(func.count()).where(*shown, pages.c.policy == "swap")
        swapped = connection.execute(swaps).scalar_one()
        hits = select(func.count(), func.count(clicks.c.query.distinct())).where(*clicked)
        found, queries = connection.execute(hits).one()
    return Traffic(int(number), int(people), int(swapped), int(found), int(queries))


def missing(
    config: "Config", found: Traffic, last: "LearningRun | None", clicked: int | None = None
) -> list[str]:
    """Sentences on what is missing, the first hindrance first; none where the gate opened last time.

    `clicked` is the number of pages with a click since the last run, where the config waits for some.
    """
    needs = [
        (
            0 if clicked is None else config.learn_after - clicked,
            "page with a click",
            "until they are learned from",
        ),
        (LEAST_CLICKS - found.clicks, "click", "until something can be learned"),
        (LEAST_QUERIES - found.clicked_queries, "query with a click", "until something can be learned"),
        (config.gate.pages - found.pages, "page", "until the gate can open"),
    ]
    reasons = [
        f"{number:,} more {_plural(what, number)} {until}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        for number, what, until in needs
        if number > 0
    ]
    if not found.swapped and config.swap_rate > 0:
        reasons.append("no page was swapped yet: the bias curve needs some")
    return reasons + ([] if reasons or last is None else _of_gate(last))


def _of_gate(last: "LearningRun") -> list[str]:
    """Why the gate stayed shut last time, and how many pages that may take."""
    gate, record = last.record.get("gate"), last.record
    if not gate or gate["opens"]:
        return []
    reasons = [str(one) for one in gate["reasons"]]
    gain, low, _ = record["candidates"][record["best"]]["gain"]
    if gain > 0 > low:  # an interval narrows with the square root of the pages
        more = record["window"]["pages"] * (((gain - low) / gain) ** 2 - 1)
        shown = f"{max(1, round(more, -2)):,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        reasons.append(f"about {shown} more pages, if the gain stays as it is")
    return reasons


def _plural(what: str, number: int) -> str:
    if number == 1:
        return what
    for one, many in (("query", "queries"), ("page with", "pages with")):
        if one in what:
            return what.replace(one, many)
    return f"{what}s"
