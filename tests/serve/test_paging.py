"""Pages after the first, other orders, browsing; what follows a page joins its record, each rank once."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, text

from rankloop.clicks import ClickLog
from rankloop.search import Index
from rankloop.serve.events.following import grow
from rankloop.serve.events.shown_page import FollowingPage
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.store import Store
from rankloop.serve.http.schema import SearchRequest
from serve.conftest import make_click, make_page
from serve.running import another, client_of, serving, wait_until

PAGE = "0" * 32


@pytest.fixture
def folder(tmp_path):
    fields = {"title": "text", "brand": "keyword", "price": "number"}
    index = Index.create(tmp_path / "shop.index", fields)
    index.add(
        {
            "id": f"d{n}",
            "title": "red shoes " + "very " * (n % 7) + "good",
            "brand": ("Hare", "Tortoise", "Fox")[n % 3],
            "price": 100 - n if n % 5 else None,
        }
        for n in range(60)
    )
    index.commit()
    return tmp_path


def ids(answer):
    return [one["id"] for one in answer["results"]]


def ask(client, **body):
    found = client.post("/search", json={"query": "red shoes", "k": 10, **body})
    assert found.status_code == 200, found.text
    return found.json()


def stored(service):
    wait_until(lambda: service.recorder.spool.waiting == 0)
    with service.store.reading() as connection:
        page_ids = connection.execute(text("SELECT page_id FROM pages ORDER BY time")).scalars().all()
    return [service.store.page(one) for one in page_ids]


def test_pages_follow_one_another_as_one_impression(folder):
    with client_of(folder, swap_rate=0.0) as (client, service):
        whole = ask(client, k=30, record=False)
        first = ask(client)
        second = ask(client, page=2, impression=first["impression"])
        third = ask(client, offset=20, impression=first["impression"])
        again = ask(client, page=2, impression=first["impression"])
        assert ids(first) + ids(second) + ids(third) == ids(whole)
        assert ids(again) == ids(second)
        assert [one["position"] for one in second["results"]] == list(range(11, 21))
        assert {one["impression"] for one in (first, second, third, again)} == {first["impression"]}
        assert (first["offset"], second["offset"], second["found"], second["last"]) == (0, 10, 60, 1000)
        (page,) = stored(service)
        assert list(page.documents) == ids(whole)
        assert page.scores.tolist() == [one["score"] for one in whole["results"]]
        asked = service.search(SearchRequest(query="red shoes", k=30))
        assert asked.impression != first["impression"]
        other = stored(service)[1]
        assert np.array_equal(page.features, other.features, equal_nan=True)


def test_a_click_on_a_following_page_has_its_rank(folder):
    with client_of(folder, swap_rate=0.0) as (client, service):
        first = ask(client)
        second = ask(client, page=2, impression=first["impression"])
        clicked = {"id": "e", "impression": second["impression"], "kind": "click", "document": ids(second)[3]}
        assert client.post("/events", json={"events": [clicked]}).json()["accepted"] == 1
        wait_until(lambda: service.recorder.spool.waiting == 0)
        log = ClickLog.from_store(service.store)
        assert log.n_pages == 1
        assert log.position.tolist() == list(range(1, 21))
        assert np.flatnonzero(log.click).tolist() == [13]
        (hit,) = [one for one in service.store.by_position() if one.clicks]
        assert hit.position == 14


def test_following_pages_without_their_first_page_are_not_recorded(folder):
    with client_of(folder) as (client, service):
        assert ask(client, page=2)["impression"] is None
        assert stored(service) == []
        forged = {"query": "red", "page": 2, "impression": "0" * 32 + ".99999999999.c2lnbmF0dXJl"}
        wrong = client.post("/search", json=forged)
        assert wrong.status_code == 400
        assert "was not signed here" in wrong.json()["detail"]
        early = client.post("/search", json={"query": "red", "impression": ask(client)["impression"]})
        assert early.status_code == 400
        assert "leave it out of the first one" in early.json()["detail"]


def test_another_query_or_person_does_not_join_the_page(folder):
    with client_of(folder, swap_rate=0.0) as (client, service):
        first = ask(client, user="ann")
        for body in ({"query": "good", "user": "ann"}, {"user": "bob"}, {"sort": "price", "user": "ann"}):
            ask(client, page=2, impression=first["impression"], **body)
        (page,) = stored(service)
        assert list(page.documents) == ids(first)
        ask(client, page=2, impression=first["impression"], user="ann")
        (page,) = stored(service)
        assert len(page.documents) == 20


def test_deep_pages_are_refused_with_the_bound(folder):
    with client_of(folder, candidates=25) as (client, _):
        assert len(ask(client, offset=20)["results"]) == 5
        answer = client.post("/search", json={"query": "red", "page": 4, "k": 10})
        assert answer.status_code == 400
        assert "down to position 25, got offset 30; narrow the search" in answer.json()["detail"]
        both = client.post("/search", json={"query": "red", "page": 2, "offset": 10})
        assert both.status_code == 400
        assert "give one of them" in both.json()["detail"]


def test_sorting_by_a_field(folder):
    with client_of(folder) as (client, service):
        cheap = ask(client, sort="price", k=60)
        prices = [one["document"].get("price") for one in cheap["results"]]
        known = [price for price in prices if price is not None]
        assert known == sorted(known)
        assert prices[len(known) :] == [None] * 12
        dear = ask(client, sort="-price")
        assert dear["results"][0]["document"]["price"] == 99
        assert ids(ask(client, sort="score", record=False)) == ids(ask(client, record=False))
        second = ask(client, sort="-price", page=2, impression=dear["impression"])
        assert ids(dear) + ids(second) == ids(ask(client, sort="-price", k=20, record=False))
        pages = stored(service)
        assert [(one.ranker, one.layout) for one in pages] == [
            ("sort price", "page.sorted"),
            ("sort -price", "page.sorted"),
        ]
        assert len(pages[1].documents) == 20
        wrong = client.post("/search", json={"query": "red", "sort": "title"})
        assert wrong.status_code == 400
        assert "number or date field to sort by" in wrong.json()["detail"]


def test_an_empty_query_browses_and_facets_keep_their_values(folder):
    with client_of(folder) as (client, _):
        every = {"Hare": 20, "Tortoise": 20, "Fox": 20}
        page = ask(client, query="", filters={"brand": "Hare"}, facets=["brand"], k=30)
        assert page["found"] == 20
        assert {one["document"]["brand"] for one in page["results"]} == {"Hare"}
        assert page["facets"]["brand"] == every
        two = ask(client, filters={"brand": ["Hare", "Fox"], "price": {"max": 60}}, facets=["brand"], k=60)
        assert two["found"] == len(two["results"])
        assert {one["document"]["brand"] for one in two["results"]} == {"Hare", "Fox"}
        expected = {}
        for n in range(60):
            if n % 5 and 100 - n <= 60:
                brand = ("Hare", "Tortoise", "Fox")[n % 3]
                expected[brand] = expected.get(brand, 0) + 1
        assert two["facets"]["brand"] == expected
        sorted_all = ask(client, query="", sort="-price")
        assert sorted_all["found"] == 60
        assert sorted_all["results"][0]["document"]["price"] == 99
        assert ask(client, query="")["results"] == []


def test_after_an_interleaved_page_nothing_is_shown_twice(folder):
    with serving(folder) as service:
        one = service.experiments.start("v1", another(service, **{"value(price)": 1.0}), kind="interleave")
        service.versions.reload()
        first = service.search(SearchRequest(query="red shoes", user="ann"))
        token = first.impression
        more = [
            service.search(SearchRequest(query="red shoes", user="ann", page=n, impression=token))
            for n in (2, 3)
        ]
        shown = [result.id for answer in (first, *more) for result in answer.results]
        assert len(set(shown)) == 30
        (page,) = stored(service)
        assert list(page.documents) == shown
        click = make_click(page, shown[15])
        service.store.put_events([click])
        progress = service.experiments.progress(one)  # clicks below the mixed page earn nothing
        assert progress.verdict["ties"] == 1


# The store


def page_and_rest(query="shoes"):
    """A page of three documents, and two that follow it."""
    first = make_page(query, "abc", page_id=PAGE, user="ann")
    features = np.arange(100.0).reshape(50, 2)

    def following(start, documents, **others):
        rows = len(documents)
        given = {"user": "ann", "ranker": "v1", "query": query, **others}
        return FollowingPage(
            page_id=PAGE,
            first=start,
            time=1001.0,
            documents=tuple(documents),
            scores=-10.0 - np.arange(start, start + rows),
            features=features[start : start + rows],
            feature_names=("bm25", "age"),
            **given,
        )

    return first, following


def put(store, record):
    if isinstance(record, FollowingPage):
        store.put_following([record])
    else:
        store.put_pages([record])


def expected(store, first, parts):
    """The stored page is the first one and the documents that follow, with their own numbers."""
    page = store.page(PAGE)
    assert "".join(page.documents) == "abc" + "".join(parts)
    for at in range(4, len(page.documents) + 1):
        assert page.scores[at - 1] == -10.0 - at
        assert page.features[at - 1].tolist() == [2.0 * at, 2.0 * at + 1]
    assert page.scores[:3].tolist() == first.scores.tolist()
    with store.reading() as connection:
        assert connection.execute(text("SELECT shown FROM pages")).scalar() == len(page.documents)
    return page


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_whatever_comes_first_the_page_is_the_same(store, order):
    first, following = page_and_rest()
    records = [first, following(4, "def"), following(7, "gh")]
    for at in (*order, *order):  # everything twice
        put(store, records[at])
    expected(store, first, ["def", "gh"])
    with store.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM following_pages")).scalar() == 0


LETTERS = "abcdefghijklmnop"
PARTS = st.lists(st.tuples(st.integers(2, 9), st.integers(1, 4)), max_size=8)


@given(PARTS, st.integers(0, 8))
def test_overlapping_parts_in_any_order_record_each_rank_once(parts, late):
    """Spans of one ranking, some of which come later: each rank has its document, once, and no gap."""

    def row(first, documents, **more):
        ranks = np.arange(first, first + len(documents), dtype="<f8")
        same = {"query": "q", "user": None, "ranker": "v1", "features": "k"}
        numbers = {"scores": ranks.tobytes(), "matrix": np.repeat(ranks, 3).astype("<f4").tobytes()}
        return {"first": first, "documents": json.dumps(list(documents)), **same, **numbers, **more}

    page, waiting, seen = row(1, "abc"), [], {1, 2, 3}
    for arrived in (parts[:late], parts[late:]):
        waiting += [row(first, LETTERS[first - 1 : first - 1 + count]) for first, count in arrived]
        waiting.sort(key=lambda one: one["first"])
        grown = grow(page, waiting)
        page |= {"documents": json.dumps(grown.documents), "scores": grown.scores, "matrix": grown.matrix}
        waiting = [one for one in waiting if one["first"] > grown.reached]
        seen |= {rank for first, count in arrived for rank in range(first, first + count)}
        reached = next(rank for rank in itertools.count(1) if rank + 1 not in seen)
        assert "".join(grown.documents) == LETTERS[:reached]
        assert np.frombuffer(grown.scores, "<f8").tolist() == list(range(1, reached + 1))
        matrix = np.frombuffer(grown.matrix, "<f4").reshape(-1, 3)
        assert matrix[:, 2].tolist() == list(range(1, reached + 1))


def test_parts_that_do_not_belong_are_dropped(store):
    first, following = page_and_rest()
    put(store, first)
    for wrong in (
        following(4, "def", query="hats"),
        following(4, "def", user="bob"),
        following(4, "def", user=None),
        following(4, "def", ranker="v2"),
    ):
        put(store, wrong)
        expected(store, first, [])
    put(store, following(4, "dbe"))  # b is on the page already: what comes after it stays out
    expected(store, first, ["d"])
    put(store, following(5, "ef"))
    expected(store, first, ["def"])


def test_a_forgotten_person_leaves_no_following_page(store):
    first, following = page_and_rest()
    put(store, following(7, "gh"))
    put(store, first)
    put(store, following(4, "def"))
    store.forget("ann", now=2000.0)
    put(store, following(9, "i"))
    with store.reading() as connection:
        for table in ("pages", "page_features", "following_pages"):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar() == 0


def test_old_parts_whose_page_never_came_are_deleted(store):
    _, following = page_and_rest()
    put(store, following(4, "def"))
    store.retain(1, now=2 * 86_400.0)
    with store.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM following_pages")).scalar() == 0


def test_two_pages_race(database):
    """Writers with connections of their own deliver the same parts at once."""
    first, following = page_and_rest()
    records = [first, *(following(at, chr(96 + at)) for at in range(4, 14))]
    stores = [Store.open(database) for _ in range(3)]
    turns = threading.Barrier(len(stores))
    troubles = []

    def write(store, shift):
        turns.wait()
        try:
            for at in range(len(records)):
                put(store, records[(at * 7 + shift) % len(records)])
        except Exception as trouble:
            troubles.append(trouble)

    threads = [threading.Thread(target=write, args=(one, 5 * at)) for at, one in enumerate(stores)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not troubles
    expected(stores[0], first, [chr(96 + at) for at in range(4, 14)])
    for one in stores:
        one.close()


def test_a_writer_that_fails_anywhere_and_tries_again(store):
    """Every statement fails once: what was half done is undone, and the second try ends the same."""
    first, following = page_and_rest()
    records = [following(7, "gh"), first, following(4, "def")]
    left = [0]

    class Crash(Exception):  # noqa: N818
        pass

    def count(*args):
        left[0] -= 1
        if left[0] == 0:
            raise Crash

    engine = store.connections.writes
    event.listen(engine, "before_cursor_execute", count)
    crashes = 0
    for number in range(1, 20):
        for record in records:
            left[0] = number
            try:
                put(store, record)
            except Crash:
                crashes += 1
            left[0] = -1
        page = store.page(PAGE)
        assert page is None or "abcdefgh".startswith("".join(page.documents))
    event.remove(engine, "before_cursor_execute", count)
    assert crashes > 5
    for record in records:
        put(store, record)
    expected(store, first, ["def", "gh"])


KILLED = """
import os, signal, sys
from sqlalchemy import event
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.store import Store

url, folder, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Store.open(url) as store:
    def count(*args):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(store.connections.writes, "before_cursor_execute", count)
    Spool(folder).drain(store)
"""


@pytest.mark.parametrize("statements", [4, 8])
def test_a_killed_writer_loses_and_repeats_nothing(database, tmp_path, statements):
    first, following = page_and_rest()
    with Spool(tmp_path / "spool") as spool:
        spool.put([first, following(4, "def")])
        spool.put([following(7, "gh"), following(4, "def"), make_click(first, "e")])
        spool.stop()
    command = [sys.executable, "-c", KILLED, database, str(tmp_path / "spool"), str(statements)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Store.open(database) as store:
        assert Spool(tmp_path / "spool").drain(store) == 5
        assert Spool(tmp_path / "spool").drain(store) == 0
        expected(store, first, ["def", "gh"])
        frame = store.click_frame(include_bots=True)
        assert frame.filter(frame["click"] == 1)["position"].to_list() == [5]


def test_records_are_read_back(page):
    from rankloop.serve.events.records import decode, encode

    _, following = page_and_rest()
    one = following(4, "def")
    again = decode(encode(one))
    assert isinstance(again, FollowingPage)
    assert again.scores.tolist() == one.scores.tolist()
    assert again.features.tolist() == one.features.tolist()
    assert json.dumps(again.documents) == json.dumps(one.documents)
    with pytest.raises(ValueError, match="begins at rank 2"):
        following(1, "abc")
