"""Each rule takes what it says, and leaves people alone."""

import polars as pl
import pytest

from rankloop.serve.events.filters import CLICKS_A_SECOND, SEARCHES_A_MINUTE, human_traffic, in_time, is_bot


def frames(pages, events=()):
    page_schema = {
        "page_id": pl.String,
        "time": pl.Float64,
        "user": pl.String,
        "layout": pl.String,
        "bot": pl.Boolean,
    }
    event_schema = {"page_id": pl.String, "kind": pl.String, "document": pl.String, "time": pl.Float64}
    return (
        pl.DataFrame(list(pages), schema=page_schema, orient="row"),
        pl.DataFrame(list(events), schema=event_schema, orient="row"),
    )


def test_people_are_kept():
    pages = [(f"p{i}", 60.0 * i, "u", "list", False) for i in range(5)]
    events = [(f"p{i}", "click", document, 60.0 * i + 3) for i in range(5) for document in "ab"]
    left = human_traffic(*frames(pages, events))
    assert left.pages.height == 5
    assert left.events.height == 10
    assert set(left.dropped.values()) == {0}


def test_crawlers_go_with_their_events():
    left = human_traffic(
        *frames([("p", 0.0, None, "list", True), ("q", 0.0, None, "list", False)], [("p", "click", "a", 1.0)])
    )
    assert left.pages["page_id"].to_list() == ["q"]
    assert left.events.height == 0
    assert left.dropped["bot"] == 1


@pytest.mark.parametrize(
    ("searches", "gone"), [(SEARCHES_A_MINUTE, 0), (SEARCHES_A_MINUTE + 1, SEARCHES_A_MINUTE + 2)]
)
def test_nobody_searches_that_often(searches, gone):
    """One search more than may be within a minute, and the user's other pages go too."""
    pages = [(f"p{i}", i * 59.0 / searches, "fast", "list", False) for i in range(searches)]
    pages += [("later", 5000.0, "fast", "list", False), ("slow", 0.0, "slow", "list", False)]
    pages += [(f"n{i}", 0.0, None, "list", False) for i in range(50)]  # nobody in particular
    left = human_traffic(*frames(pages))
    assert left.dropped["searches"] == gone
    assert "slow" in left.pages["page_id"]


@pytest.mark.parametrize(("documents", "gone"), [(CLICKS_A_SECOND, 0), (CLICKS_A_SECOND + 1, 1)])
def test_nobody_clicks_that_fast(documents, gone):
    pages = [("p", 0.0, "u", "list", False)]
    events = [("p", "click", str(i), 5.0 + 0.9 * i / documents) for i in range(documents)]
    assert human_traffic(*frames(pages, events)).dropped["clicks"] == gone
    again = [("p", "click", "same", 5.0 + 0.01 * i) for i in range(20)]  # a nervous finger
    assert human_traffic(*frames(pages, again)).dropped["clicks"] == 0


def test_events_outside_the_life_of_their_page_go():
    pages = [("p", 1000.0, "u", "list", False)]
    events = [("p", "click", "a", time) for time in (900.0, 998.5, 1000.0, 1000.0 + 86_400, 1001.0 + 86_400)]
    left = human_traffic(*frames(pages, events))
    assert left.events["time"].to_list() == [time for *_, time in events[1:4]]
    assert left.dropped["time"] == 2
    assert [in_time(time, 1000.0) for *_, time in events] == [False, True, True, True, False]


def test_clicks_on_what_was_never_in_view_go_where_views_are_errors():
    pages = [(f"p{i}", 0.0, None, "list", False) for i in range(4)] + [("api", 0.0, None, "api", False)]
    events = [(f"p{i}", "viewport", "a", 1.0) for i in range(3)]
    events += [(page, "click", "a", 2.0) for page in ("p0", "p1", "p2", "p3", "api")]
    left = human_traffic(*frames(pages, events))
    assert left.pages["page_id"].to_list() == ["p0", "p1", "p2", "api"]
    assert left.dropped["viewport"] == 1


@pytest.mark.parametrize(
    ("agent", "bot"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", False),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", False),
        ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", True),
        ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/140.0", True),
        ("python-requests/2.32", True),
        ("curl/8.1", True),
        ("", True),
    ],
)
def test_browsers_say_who_they_are(agent, bot):
    assert is_bot(agent) is bot


def test_the_store_leaves_machines_out_and_counts_them(store, page, click):
    human, crawler = page(user="u"), page(bot=True)
    store.put_pages([human, crawler])
    store.put_events(
        [click(human, "a"), click(human, "a"), click(crawler, "a"), click(human, "b", after=-50)]
    )
    assert store.click_frame()["click"].to_list() == [1, 0, 0]
    assert store.click_frame(include_bots=True)["session"].n_unique() == 2
    rules = {"bot": 1, "searches": 0, "time": 1, "clicks": 0, "viewport": 0}
    assert store.dropped() == rules | {"person": 0, "origin": 0, "query": 0}
    assert store.dropped(influence=None) == rules
    assert [one.clicks for one in store.by_position()] == [1, 0, 0]
