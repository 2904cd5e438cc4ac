"""Which pages people saw and which clicks are theirs: rules, and how much each leaves out."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["HumanTraffic", "human_traffic", "in_time", "is_bot"]

EARLY = 2.0  # seconds by which the clocks of two machines may differ
LATE = 86_400.0  # seconds after which nobody looks at a page any more
SEARCHES_A_MINUTE = 30  # of a person at most
CLICKS_A_SECOND = 4  # documents of one page, of a person at most
_CRAWLERS = re.compile(
    r"bot\b|bot/|crawl|spider|slurp|headless|python-|curl/|wget/|httpx|scrapy|phantomjs|go-http|java/|libwww",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class HumanTraffic:
    """The pages and events of people, and how many each rule left out."""

    pages: "polars.DataFrame"
    events: "polars.DataFrame"
    dropped: dict[str, int]


def is_bot(user_agent: str | None) -> bool:
    """Whether a user agent names a crawler or a script; a missing one counts as such.

    >>> is_bot("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"), is_bot("Googlebot/2.1"), is_bot(None)
    (False, True, True)
    """
    return not user_agent or _CRAWLERS.search(user_agent) is not None


def in_time(happened: float, shown: float) -> bool:
    """Whether an event happened after its page was shown, and within a day.

    >>> in_time(100.0, shown=99.0), in_time(90.0, shown=99.0)
    (True, False)
    """
    return shown - EARLY <= happened <= shown + LATE


def human_traffic(pages: "polars.DataFrame", events: "polars.DataFrame") -> HumanTraffic:
    """The pages that people saw, and their events.

    `pages` has page_id, time, user, layout and bot, `events` page_id, kind, document and time. Left out are
    pages of crawlers (`bot`), all pages of a user who searched more than 30 times in some minute
    (`searches`), pages with more than 4 documents clicked within a second (`clicks`), pages clicked without
    a `viewport` event in layouts that usually send them (`viewport`), and events before their page or more
    than a day after it (`time`). Repeated clicks on a document are not counted here.
    """
    import polars as pl

    dropped: dict[str, int] = {}

    def without(wrong: "polars.DataFrame", rule: str) -> None:
        nonlocal pages
        left = pages.join(wrong, on="page_id", how="anti", maintain_order="left")
        dropped[rule] = pages.height - left.height
        pages = left

    without(pages.filter("bot").select("page_id"), "bot")
    without(_too_many_searches(pages), "searches")
    with_page = events.join(pages.select("page_id", "layout", shown="time"), on="page_id")
    timely = with_page.filter(
        (pl.col("time") >= pl.col("shown") - EARLY) & (pl.col("time") <= pl.col("shown") + LATE)
    )
    dropped["time"] = with_page.height - timely.height
    without(_too_many_clicks(timely), "clicks")
    without(_never_seen(timely), "viewport")
    timely = timely.select(events.columns).join(pages.select("page_id"), on="page_id", how="semi")
    return HumanTraffic(pages, timely, dropped)


def _too_many_searches(pages: "polars.DataFrame") -> "polars.DataFrame":
    """Pages of users with more than SEARCHES_A_MINUTE in any 60 seconds."""
    import polars as pl

    known = pages.filter(pl.col("user").is_not_null()).sort("user", "time")
    earlier = pl.col("time").shift(SEARCHES_A_MINUTE).over("user")
    fast = known.filter(pl.col("time") - earlier < 60.0).select("user").unique()
    return known.join(fast, on="user", how="semi").select("page_id")


def _too_many_clicks(events: "polars.DataFrame") -> "polars.DataFrame":
    """Pages with more than CLICKS_A_SECOND documents clicked in any second."""
    import polars as pl

    first = (
        events.filter(pl.col("kind") == "click")
        .group_by("page_id", "document")
        .agg(pl.col("time").min())
        .sort("page_id", "time")
    )
    earlier = pl.col("time").shift(CLICKS_A_SECOND).over("page_id")
    return first.filter(pl.col("time") - earlier < 1.0).select("page_id").unique()


def _never_seen(events: "polars.DataFrame") -> "polars.DataFrame":
    """Pages clicked without a viewport event, in layouts where most clicked pages have one."""
    import polars as pl

    by_page = events.group_by("page_id", "layout").agg(
        clicked=(pl.col("kind") == "click").any(), seen=(pl.col("kind") == "viewport").any()
    )
    clicked = by_page.filter("clicked")
    usual = clicked.group_by("layout").agg(pl.col("seen").mean()).filter(pl.col("seen") > 0.5)
    return (
        clicked.join(usual.select("layout"), on="layout", how="semi")
        .filter(~pl.col("seen"))["page_id"]
        .to_frame()
    )
