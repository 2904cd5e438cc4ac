"""The sums of the dashboard against the same sums in plain loops."""

from collections import defaultdict

import numpy as np
import pytest

from rankloop.serve.events.sums import DaySum, PositionSum, SlowQuery, WorstQuery

DAY = 86_400


@pytest.fixture
def traffic(store, page, click):
    """Three days, two rankers, a few users and crawlers; gives (page, clicked positions) for each page."""
    random = np.random.default_rng(0)
    shown = []
    for i in range(120):
        documents = "abcde"[: random.integers(0, 6)]
        one = page(
            f"q{random.integers(6)}",
            documents,
            shown=float(random.integers(0, 3 * DAY)),
            user=f"u{random.integers(3)}" if i % 3 else None,
            ranker=f"v{random.integers(1, 3)}",
            layout="phone" if i % 4 == 0 else "desk",
            bot=i % 10 == 0,
            seconds={"retrieve": float(random.random()), "rank": 0.5} if i % 7 else {},
        )
        clicked = [rank for rank in range(1, len(documents) + 1) if random.random() < 0.3]
        shown.append((one, clicked))
    store.put_pages([one for one, _ in shown])
    store.put_events(
        [click(one, one.documents[rank - 1], after=10.0) for one, ranks in shown for rank in ranks * 2]
    )
    return shown


def people(traffic, since=0.0, until=float("inf")):
    return [(one, ranks) for one, ranks in traffic if not one.bot and since <= one.time < until]


@pytest.mark.parametrize(("since", "until"), [(None, None), (0.5 * DAY, 2.25 * DAY)])
def test_by_position(store, traffic, since, until):
    seen = people(traffic, since or 0, until or np.inf)
    expected = [
        PositionSum(
            rank, sum(len(one.documents) >= rank for one, _ in seen), sum(rank in ranks for _, ranks in seen)
        )
        for rank in range(1, 6)
    ]
    assert store.by_position(since=since, until=until) == expected


def test_by_position_of_a_layout(store, traffic):
    seen = [(one, ranks) for one, ranks in people(traffic) if one.layout == "phone"]
    first = store.by_position(layout="phone")[0]
    assert first == (1, sum(bool(one.documents) for one, _ in seen), sum(1 in ranks for _, ranks in seen))


def test_daily(store, traffic):
    days = defaultdict(list)
    for one, ranks in people(traffic, since=DAY / 2):
        days[one.time // DAY * DAY, one.ranker].append((one, ranks))
    expected = [
        DaySum(
            day,
            ranker,
            len(pages),
            sum(len(ranks) for _, ranks in pages),
            sum(bool(ranks) for _, ranks in pages),
            sum(1 in ranks for _, ranks in pages),
            np.mean([1 / min(ranks) if ranks else 0 for _, ranks in pages]),
            np.mean([sum(one.seconds.values()) for one, _ in pages if one.seconds]),
            sum(bool(one.seconds) for one, _ in pages),
            sum(not one.documents for one, _ in pages),
        )
        for (day, ranker), pages in sorted(days.items())
    ]
    for got, wanted in zip(store.daily(since=DAY / 2), expected, strict=True):
        assert got == pytest.approx(wanted)


def test_worst_queries(store, traffic):
    within = 4000.0
    by_query = defaultdict(list)
    for one, ranks in people(traffic):
        later = [other for other, _ in traffic if other.user == one.user and other.time > one.time]
        after = min(later, key=lambda other: other.time, default=None) if one.user else None
        again = after is not None and after.time <= one.time + within and after.query != one.query
        by_query[one.query].append((bool(ranks), again))
    expected = [
        WorstQuery(query, len(pages), sum(hit for hit, _ in pages), sum(again for _, again in pages))
        for query, pages in by_query.items()
    ]
    expected.sort(key=lambda one: (one.clicked_pages - one.pages - one.reformulated, one.query))
    got = store.worst_queries(4, seconds=within)
    assert got == expected[:4]
    assert sum(one.reformulated for one in got) > 0


def test_a_query_that_is_clicked_and_asked_again_fails_too(store, page, click):
    """Every page of "shoes" has a click, and is given up for another search; "boots" satisfies."""
    shown = [page("shoes", shown=1.0, user="u"), page("boots", shown=31.0, user="u")]
    store.put_pages(shown)
    store.put_events([click(one, "a") for one in shown])
    assert store.worst_queries() == [WorstQuery("shoes", 1, 1, 1)]


def test_slowest_queries(store, traffic):
    by_query = defaultdict(list)
    for one, _ in people(traffic):
        by_query[one.query].append(sum(one.seconds.values()))
    expected = [SlowQuery(query, len(took), np.mean(took), max(took)) for query, took in by_query.items()]
    expected.sort(key=lambda one: -one.seconds)
    got = store.slowest_queries(3)
    assert [one.query for one in got] == [one.query for one in expected[:3]]
    for one, wanted in zip(got, expected, strict=False):
        assert one[1:] == pytest.approx(wanted[1:])


def test_an_empty_store_has_empty_sums(store):
    assert store.by_position() == store.daily() == store.worst_queries() == store.slowest_queries() == []
