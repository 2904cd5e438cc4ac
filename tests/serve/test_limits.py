"""What one client may do: sizes, rates, and memory that stays bounded."""

import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop.search.retriever
from rankloop.serve.config import Limits
from rankloop.serve.http.limits import TokenBuckets
from serve.running import client_of

SMALL = Limits(body=2_000, query=20, k=5, events=2, rate=0.0)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), limits=SMALL) as pair:
        yield pair


def test_a_large_body_is_refused_before_it_is_read(shop):
    answer = shop[0].post("/search", content=b"x" * 2_001)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "a request has at most 2000 bytes; send less at a time"


def test_a_large_body_in_chunks_is_refused(shop):
    answer = shop[0].post("/search", content=(b"x" * 500 for _ in range(5)))
    assert answer.status_code == 413


def test_a_small_body_in_chunks_is_read(shop):
    parts = iter([b'{"query": ', b'"red"', b"}"])
    answer = shop[0].post("/search", content=parts, headers={"content-type": "application/json"})
    assert answer.status_code == 200


def test_a_body_that_promises_much_is_refused_at_once(shop):
    address = (shop[0].base_url.host, shop[0].base_url.port)
    with socket.create_connection(address, timeout=5) as wire:
        wire.sendall(b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert wire.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"query": "a" * 21}, "at most 20 characters, got 21"),
        ({"query": "red", "k": 6}, "at most k=5 results, got 6"),
    ],
)
def test_what_is_asked_for_is_limited(shop, body, message):
    answer = shop[0].post("/search", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["detail"]


def test_a_search_past_its_deadline_is_given_up(tmp_path, monkeypatch):
    """The first look at the clock comes too late; the next request is answered."""
    with client_of(tmp_path, limits=Limits(seconds=0.2)) as (client, _):
        late = threading.Event()

        def slow(self, *args, **kwargs):
            if late.is_set():
                time.sleep(0.3)
            return leaves_of(self, *args, **kwargs)

        leaves_of = rankloop.search.retriever.leaves_of
        monkeypatch.setattr(rankloop.search.retriever, "leaves_of", slow)
        late.set()
        answer = client.post("/search", json={"query": "red shoes"})
        page = client.get("/", params={"q": "red shoes"})
        late.clear()
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "more than 0.2 seconds" in answer.json()["detail"]
        assert page.status_code == 503
        assert client.post("/search", json={"query": "red shoes"}).status_code == 200


def test_the_answer_says_which_words_were_not_searched(shop):
    assert shop[0].post("/search", json={"query": "red"}).json()["cut"] == []


def test_a_batch_is_limited(shop):
    event = {"impression": "x", "kind": "click", "document": "1"}
    events = [{"id": f"event-{number:03}", **event} for number in range(3)]
    answer = shop[0].post("/events", json={"events": events})
    assert answer.status_code == 400
    assert "at most 2 events at once, got 3" in answer.json()["detail"]


def test_too_many_requests_are_refused_with_the_time_to_wait(tmp_path):
    with client_of(tmp_path, limits=Limits(rate=0.01, burst=3)) as (client, _):
        statuses = [client.post("/search", json={"query": "red"}).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        refused = client.post("/search", json={"query": "red"})
        assert 90 <= int(refused.headers["retry-after"]) <= 100
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert client.get("/health").status_code == 200


def test_a_name_in_the_way_of_a_stranger_is_not_believed(tmp_path):
    with client_of(tmp_path, limits=Limits(rate=0.01, burst=1)) as (client, _):
        codes = [
            client.get("/suggest?query=red", headers={"x-forwarded-for": f"1.1.1.{n}"}).status_code
            for n in range(2)
        ]
        assert codes == [200, 429]


def test_other_hosts_are_refused_where_hosts_are_named(tmp_path):
    with client_of(tmp_path, hosts=("127.0.0.1",)) as (client, _):
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 400


def test_other_sites_may_call_only_where_named(tmp_path):
    with client_of(tmp_path, origins=("https://shop.example",)) as (client, _):
        wanted = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        good = client.options("/events", headers={"origin": "https://shop.example", **wanted})
        assert good.headers["access-control-allow-origin"] == "https://shop.example"
        evil = client.options("/events", headers={"origin": "https://evil.example", **wanted})
        assert "access-control-allow-origin" not in evil.headers


@given(st.floats(0.1, 100), st.integers(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=100))
def test_no_more_than_the_burst_and_the_rate(rate, burst, pauses):
    buckets = TokenBuckets(rate, burst, most=10)
    now, passed = 0.0, 0
    for pause in pauses:
        now += pause
        passed += buckets.wait("a", now) == 0.0
        assert passed <= burst + rate * now + 1e-6


def test_waiting_that_long_is_enough():
    buckets = TokenBuckets(2.0, 1, most=10)
    assert buckets.wait("a", 0.0) == 0.0
    wait = buckets.wait("a", 0.1)
    assert wait == pytest.approx(0.4)
    assert buckets.wait("a", 0.1 + wait + 1e-9) == 0.0


def test_memory_of_clients_is_bounded():
    buckets = TokenBuckets(1.0, 1, most=50)
    for number in range(1000):
        buckets.wait(f"client {number}", float(number))
    assert len(buckets) == 50


def test_a_trusted_proxy_says_for_whom_it_asks(tmp_path):
    with client_of(tmp_path, limits=Limits(rate=0.01, burst=1), proxies=("127.0.0.1",)) as (client, _):
        codes = [
            client.get("/suggest?query=red", headers={"x-forwarded-for": f"9.9.9.9, 1.1.1.{n}"}).status_code
            for n in (1, 2, 1)
        ]
        assert codes == [200, 200, 429]


def test_a_slow_body_does_not_hold_a_place():
    import asyncio

    from rankloop.serve.http.limits import Bodies

    async def never(scope, receive, send):
        raise AssertionError("the app must not see it")

    async def slow():
        await asyncio.sleep(60)

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"content-length", b"5")]}
    asyncio.run(Bodies(never, limit=10, seconds=0.01)(scope, slow, send))
    assert sent[0]["status"] == 408


def test_a_client_that_leaves_is_no_error(shop):
    address = (shop[0].base_url.host, shop[0].base_url.port)
    for sent in (
        b"POST /search HTTP/1.1\r\n",
        b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    ):
        with socket.create_connection(address, timeout=5) as wire:
            wire.sendall(sent)
    assert shop[0].get("/health").status_code == 200
