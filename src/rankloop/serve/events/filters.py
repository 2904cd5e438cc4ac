"""Which pages were seen by people, and which clicks are theirs: simple rules, each with its count."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["Kept", "in_time", "is_bot", "kept"]

EARLY = 2.0  # seconds by which clocks of two machines may differ
LATE = 86_400.0  # seconds after which a page is no longer in front of anyone
SEARCHES_A_MINUTE = 30  # more, and no person types them
CLICKS_A_SECOND = 4  # more documents of one page within a second, and no person clicks them
_CRAWLERS = re.compile(
    r"bot\b|bot/|crawl|spider|slurp|headless|python-|curl/|wget/|httpx|scrapy|phantomjs|go-http|java/|libwww",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Kept:
    """What is left, and how much each rule took."""

    pages: "polars.DataFrame"
    events: "polars.DataFrame"
    dropped: dict[str, int]


def is_bot(user_agent: str | None) -> bool:
    """Whether a browser calls itself a crawler or a script; without a name it is one.

    >>> is_bot("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"), is_bot("Googlebot/2.1"), is_bot(None)
    (False, True, True)
    """
    return not user_agent or _CRAWLERS.search(user_agent) is not None


def in_time(happened: float, shown: float) -> bool:
    """Whether something happened while its page could be seen: not before it, and not days later.

    >>> in_time(100.0, shown=99.0), in_time(90.0, shown=99.0)
    (True, False)
    """
    return shown - EARLY <= happened <= shown + LATE


def kept(pages: "polars.DataFrame", events: "polars.DataFrame") -> Kept:
    """Pages that people saw and events that belong to them.

    `pages` has page_id, time, user, layout and bot, `events` page_id, kind, document and time. Dropped are
    pages that crawlers asked for (`bot`), all pages of a user who searched more than 30 times in some minute
    (`searches`), pages with more than 4 documents clicked within a second (`clicks`), pages clicked without
    anything having come into view where that is usually told (`viewport`), and events outside the life of
    their page (`time`). A document clicked again on the same page is one click, which is not counted here.
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
    return Kept(pages, timely, dropped)


def _too_many_searches(pages: "polars.DataFrame") -> "polars.DataFrame":
    """Pages of users with more than so many searches in any 60 seconds."""
    import polars as pl

    known = pages.filter(pl.col("user").is_not_null()).sort("user", "time")
    earlier = pl.col("time").shift(SEARCHES_A_MINUTE).over("user")
    fast = known.filter(pl.col("time") - earlier < 60.0).select("user").unique()
    return known.join(fast, on="user", how="semi").select("page_id")


def _too_many_clicks(events: "polars.DataFrame") -> "polars.DataFrame":
    """Pages of which more than so many documents were clicked in any second."""
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
    """Pages clicked with nothing in view, in layouts most of whose clicked pages tell what was in view."""
    import polars as pl

    told = events.group_by("page_id", "layout").agg(
        clicked=(pl.col("kind") == "click").any(), seen=(pl.col("kind") == "viewport").any()
    )
    clicked = told.filter("clicked")
    usual = clicked.group_by("layout").agg(pl.col("seen").mean()).filter(pl.col("seen") > 0.5)
    return (
        clicked.join(usual.select("layout"), on="layout", how="semi")
        .filter(~pl.col("seen"))["page_id"]
        .to_frame()
    )
