"""Requests that are slow, many, half-sent or abandoned: others are still answered."""

import asyncio
import gzip
import socket
import threading
import time
from contextlib import suppress
from functools import wraps
from types import SimpleNamespace

import httpx
import pytest

import rankloop.search.retriever
from rankloop.search import Deadline
from rankloop.serve.config import Limits
from rankloop.serve.events.address_range import address_range
from rankloop.serve.http.connections import OpenConnections
from rankloop.serve.http.search_threads import Busy, ClientGone, SearchThreads
from serve.running import ADMIN, client_of, wait_until


def address(client):
    return client.base_url.host, client.base_url.port


@pytest.fixture
def held(monkeypatch):
    """Searches for "held" stop before retrieval until they are released, and look at their deadline."""
    release, began, ended = threading.Event(), [], []
    call = rankloop.search.retriever.Retriever.__call__

    def slow(self, query, *args, **kwargs):
        if "held" in query.text:
            began.append(query)
            try:
                while not release.wait(0.005):
                    query.deadline.check()
            finally:
                ended.append(query)
        return call(self, query, *args, **kwargs)

    monkeypatch.setattr(rankloop.search.retriever.Retriever, "__call__", slow)
    yield began, ended, release
    release.set()


def hang_up_during(client, request, began):
    """Send a request, and close the connection once its search has begun."""
    before = len(began)
    with socket.create_connection(address(client), timeout=10) as wire:
        wire.sendall(request)
        wait_until(lambda: len(began) > before)


@pytest.mark.parametrize(
    "request_line",
    [
        b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
        b'{"query": "held"}',
        b"GET /suggest?query=held HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /explain?query=held&document=1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /?q=held HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /why?q=held&document=1 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["search", "suggest", "explain", "page", "why"],
)
def test_hanging_up_ends_the_search(tmp_path, held, request_line):
    began, ended, _ = held
    with client_of(tmp_path, limits=Limits(rate=0, seconds=600)) as (client, _):
        hang_up_during(client, request_line, began)
        wait_until(lambda: len(ended) == len(began) == 1, seconds=10)
        assert began[0].deadline.left == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/search", {"query": "held"}),
        ("GET", "/suggest?query=held", None),
        ("GET", "/explain?query=held&document=1", None),
        ("GET", "/?q=held", None),
        ("GET", "/fragment?q=held", None),
        ("GET", "/why?q=held&document=1", None),
    ],
)
def test_every_search_has_a_deadline(tmp_path, held, method, path, body):
    with client_of(tmp_path, limits=Limits(rate=0, seconds=0.2)) as (client, _):
        answer = client.request(method, path, json=body)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "more than 0.2 seconds" in answer.text


def test_a_full_line_is_a_503_and_the_service_goes_on(tmp_path, held):
    began, _, release = held
    limits = Limits(rate=0, seconds=60, waiting=3)
    with client_of(tmp_path, limits=limits, threads=1) as (client, _):
        answers = []

        def search():
            answers.append(client.post("/search", json={"query": "held"}, timeout=60).status_code)

        def in_line():
            threads.append(threading.Thread(target=search))
            threads[-1].start()

        threads, refused = [], []
        for _ in range(4):
            in_line()
        wait_until(lambda: len(began) == 1)

        def full():
            try:
                refused.append(client.post("/search", json={"query": "red"}, timeout=1))
            except httpx.ReadTimeout:  # it waited in line itself, where another takes its place
                in_line()
            return bool(refused) and refused[-1].status_code == 503

        wait_until(full, seconds=30)
        assert int(refused[-1].headers["retry-after"]) > 0
        assert "searches wait already" in refused[-1].json()["detail"]
        page = client.get("/", params={"q": "red"})
        assert page.status_code == 503
        assert int(page.headers["retry-after"]) > 0
        assert client.get("/health").status_code == 200
        release.set()
        for one in threads:
            one.join()
        assert answers.count(200) >= 3
        assert client.post("/search", json={"query": "red"}).status_code == 200


@pytest.mark.parametrize(
    "half",
    [b"X-", b'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"query":'],
    ids=["heads", "bodies"],
)
def test_an_ordinary_search_is_answered_beside_1200_half_sent_requests(tmp_path, half):
    """Also when they come from the same address, and keep sending a byte now and then."""
    limits = Limits(rate=0, connections=200, header_seconds=30.0)
    with client_of(tmp_path, limits=limits) as (client, _):
        wires = []
        try:
            for _ in range(1200):
                wire = socket.create_connection(address(client), timeout=10)
                wire.sendall(b"POST /search HTTP/1.1\r\nHost: x\r\n" + half)
                wires.append(wire)
            for _ in range(3):
                start = time.monotonic()
                with httpx.Client(base_url=client.base_url, timeout=25) as another:
                    assert another.post("/search", json={"query": "red"}).status_code == 200
                assert time.monotonic() - start < 20  # before the half-sent ones are given up
            still_open = sum(not closed(wire) for wire in wires)
            assert still_open <= 200
        finally:
            for wire in wires:
                wire.close()


def closed(wire):
    wire.settimeout(0.0)
    try:
        return wire.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_head_that_does_not_end_is_hung_up_on(tmp_path):
    limits = Limits(rate=0, header_seconds=0.3)
    with client_of(tmp_path, limits=limits) as (client, _):
        with socket.create_connection(address(client), timeout=10) as wire:
            assert trickled(wire, b"G") < 5
        with socket.create_connection(address(client), timeout=10) as wire:  # a second request on it
            wire.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wire.recv(1000).startswith(b"HTTP/1.1 200")
            assert trickled(wire, b"GET /health HTTP/1.1\r\nHos") < 5


def trickled(wire, data):
    """Seconds until the other side hangs up, while a few bytes come now and then."""
    started = time.monotonic()
    with suppress(OSError):
        while time.monotonic() - started < 10 and not closed(wire):
            wire.settimeout(5)
            wire.sendall(data[:1])
            data = data[1:] or b"x"
            time.sleep(0.05)
    return time.monotonic() - started


class Wire:
    def __init__(self, asked=False):
        self.asked, self.hung_up = asked, False

    def hang_up(self):
        self.hung_up = True


def test_the_range_with_most_connections_loses_its_oldest():
    opened = OpenConnections(most=4, header_seconds=1.0)
    crowd, alone = [Wire() for _ in range(4)], Wire()
    for one in crowd:
        opened.add(one, "192.0.2.0/24")
    opened.add(alone, "198.51.100.0/24")
    assert [one.hung_up for one in (*crowd, alone)] == [True, False, False, False, False]
    opened.remove(crowd[0], "192.0.2.0/24")
    opened.remove(crowd[0], "192.0.2.0/24")
    assert len(opened) == 4


def test_where_all_are_asked_the_new_one_is_closed():
    opened = OpenConnections(most=2, header_seconds=1.0)
    busy, new = [Wire(asked=True), Wire(asked=True)], Wire()
    for one in (*busy, new):
        opened.add(one, "192.0.2.0/24")
    assert new.hung_up
    assert not any(one.hung_up for one in busy)


def test_a_crowd_whose_requests_are_all_being_answered_makes_room_for_others():
    opened = OpenConnections(most=4, header_seconds=1.0)
    crowd = [Wire(asked=True) for _ in range(3)]
    others = [Wire(asked=True) for _ in range(3)]
    for one in crowd:
        opened.add(one, "192.0.2.0/24")
    for at, one in enumerate(others):
        opened.add(one, f"198.51.{at}.0/24")
    assert [one.hung_up for one in crowd] == [True, False, False]
    assert not any(one.hung_up for one in others)


@pytest.mark.parametrize("path", ["/search", "/documents"])
def test_a_request_with_two_lengths_is_refused_and_hung_up_on(tmp_path, path):
    """A proxy may go by the other one, and take what follows for the request of somebody else."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
    both = head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    with client_of(tmp_path) as (client, _), socket.create_connection(address(client), timeout=10) as wire:
        wire.sendall(both + b'10\r\n{"query": "red"}\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n')
        got = b""
        while part := wire.recv(65_536):
            got += part
        assert got.startswith(b"HTTP/1.1 400")
        assert b"either Content-Length or Transfer-Encoding" in got
        assert got.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("path", ["/search", "/documents", "/events"])
def test_a_packed_body_is_refused_unread(tmp_path, path):
    headers = ADMIN | {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with client_of(tmp_path) as (client, _):
        answer = client.post(path, content=gzip.compress(b" " * 10_000_000), headers=headers)
        assert answer.status_code == 415
        assert answer.json() == {"detail": "send the body as it is, without Content-Encoding"}
        plain = headers | {"Content-Encoding": "identity"}
        assert client.post("/search", content=b'{"query": "red"}', headers=plain).status_code == 200


def in_a_loop(test):
    """A test that is a coroutine, run in an event loop of its own."""

    @wraps(test)
    def run(**fixtures):
        asyncio.run(test(**fixtures))

    return run


class Turns:
    """Searches of `SearchThreads` whose ends the test decides."""

    def __init__(self, threads, waiting):
        self.threads, self.order, self.tasks, self.releases = SearchThreads(threads, waiting), [], [], {}
        self.gone = {}

    def start(self, client, name):
        self.releases[name] = threading.Event()

        def work():
            self.order.append(name)
            self.releases[name].wait(20)
            return name

        gone = asyncio.get_running_loop().create_future()
        self.gone[name] = gone
        run = self.threads.run(client, work, deadline=Deadline(20.0), gone=gone)
        self.tasks.append(asyncio.create_task(run))
        return self.tasks[-1]

    async def start_crowd(self, searches):
        """One search of an honest client runs, and a crowd begins several."""
        self.start("honest", "h0")
        await self.until("h0")
        for number in range(searches):
            self.start("crowd", f"c{number}")

    async def until(self, *names):
        while len(self.order) < len(names):
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.01)
        assert self.order == list(names)

    async def until_all(self, *names):
        """Like `until`, for searches that began at the same time."""
        while len(self.order) < len(names):
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.01)
        assert set(self.order) == set(names)
        assert len(self.order) == len(names)

    async def end(self):
        for one in self.releases.values():
            one.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@in_a_loop
async def test_a_client_with_slow_searches_delays_itself():
    turns = Turns(threads=2, waiting=10)
    turns.start("honest", "h0")
    await turns.until("h0")
    turns.releases["h0"].set()
    await turns.tasks[0]
    for number in range(4):
        turns.start("crowd", f"c{number}")
    await turns.until("h0", "c0")  # one of two threads, as another client is here
    turns.start("honest", "h1")
    await turns.until("h0", "c0", "h1")
    turns.start("honest", "h2")
    turns.releases["c0"].set()
    await turns.until("h0", "c0", "h1", "c1")
    turns.releases["h1"].set()
    await turns.until("h0", "c0", "h1", "c1", "h2")
    await turns.end()


class Clock:
    """A clock that the test sets, in place of the one of `search_threads`."""

    def __init__(self, monkeypatch):
        self.now, self.spent = 1000.0, 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, thread_time=lambda: self.spent)
        monkeypatch.setattr("rankloop.serve.http.search_threads.time", clock)

    async def search(self, threads, client, cost):
        """A search that takes some processor time; gives the client's use afterwards."""

        def work():
            self.spent += cost

        gone = asyncio.get_running_loop().create_future()
        await threads.run(client, work, deadline=Deadline(), gone=gone)
        return threads._lately(client)


@in_a_loop
async def test_who_used_too_much_lately_waits_until_it_fades(monkeypatch):
    """A quarter of a processor within 2.5 seconds is 0.625; 0.8 fade to it in 2.5 ln(0.8 / 0.625) = 0.617."""
    clock, threads = Clock(monkeypatch), SearchThreads(2, 10)
    await clock.search(threads, "honest", 0.8)
    assert await clock.search(threads, "crowd", 0.8) == pytest.approx(0.8)
    assert not threads._may_run("crowd")
    clock.now += 0.61
    assert not threads._may_run("crowd")
    clock.now += 0.02
    assert threads._may_run("crowd")
    await clock.search(threads, "crowd", 0.8)
    clock.now += 20.0  # nobody else is here any more
    assert threads._may_run("crowd")


@in_a_loop
async def test_a_search_counts_as_often_as_it_costs_more_than_those_of_others(monkeypatch):
    clock, threads = Clock(monkeypatch), SearchThreads(4, 10)
    for number in range(8):
        assert await clock.search(threads, f"h{number}", 0.01) == pytest.approx(0.01)
    assert await clock.search(threads, "crowd", 0.05) == pytest.approx(0.05 * 5)
    assert await clock.search(threads, "crowd", 0.05) == pytest.approx(2 * 0.05 * 5)
    assert await clock.search(threads, "crowd", 0.05) == pytest.approx(3 * 0.05 * 5)
    assert not threads._may_run("crowd")  # 0.75 of 0.625, after three
    assert await clock.search(threads, "heavy", 0.5) == pytest.approx(0.5 * 8)  # 8 times at most
    assert await clock.search(threads, "h0", 0.01) == pytest.approx(0.02)  # the median: it did not move
    assert threads._may_run("h0")


@in_a_loop
async def test_a_heavy_client_lets_a_lighter_one_go_first(monkeypatch):
    """A search that runs pauses at its checks, and the next one starts when the lighter one has ended."""
    clock, threads = Clock(monkeypatch), SearchThreads(8, 10)
    await clock.search(threads, "light", 0.01)
    assert await clock.search(threads, "crowd", 0.1) == pytest.approx(0.8)  # of 1.25; heavy from 0.625 on
    events = {name: threading.Event() for name in ("crowd runs", "crowd goes on", "light may end")}
    done = []

    def crowd(deadline):
        events["crowd runs"].set()
        events["crowd goes on"].wait(20)
        deadline.check()
        done.append("crowd")

    def light(deadline):
        events["light may end"].wait(20)
        done.append("light")

    def start(client, work):
        deadline, gone = Deadline(20.0), asyncio.get_running_loop().create_future()
        run = threads.run(client, lambda: work(deadline), deadline=deadline, gone=gone)
        return asyncio.create_task(run)

    monkeypatch.setattr("rankloop.serve.http.search_threads.PAUSE", 20.0)
    first = start("crowd", crowd)
    await asyncio.to_thread(events["crowd runs"].wait, 20)
    second = start("light", light)
    await asyncio.sleep(0.02)
    third = start("crowd", lambda deadline: done.append("crowd again"))
    events["crowd goes on"].set()
    await asyncio.sleep(0.05)
    assert done == []  # the crowd pauses although threads are free
    events["light may end"].set()
    await asyncio.wait_for(asyncio.gather(first, second, third), 20)
    assert done[0] == "light"
    assert sorted(done[1:]) == ["crowd", "crowd again"]


@in_a_loop
async def test_a_pause_ends_by_itself(monkeypatch):
    """A heavy client's search goes on, slowly, however long a lighter one takes."""
    clock, threads = Clock(monkeypatch), SearchThreads(8, 10)
    await clock.search(threads, "light", 0.01)
    await clock.search(threads, "crowd", 0.1)
    until, may_end = Deadline(20.0), threading.Event()
    runs = threading.Event()

    def crowd():
        runs.set()
        until.check()

    gone = asyncio.get_running_loop().create_future()
    first = asyncio.create_task(threads.run("crowd", crowd, deadline=until, gone=gone))
    await asyncio.to_thread(runs.wait, 20)
    work = threads.run("light", lambda: may_end.wait(20), deadline=Deadline(20.0), gone=gone)
    second = asyncio.create_task(work)
    await asyncio.wait_for(first, 10)
    assert not second.done()
    may_end.set()
    await second


@in_a_loop
async def test_waiting_for_an_engine_costs_nothing_and_holds_a_quarter_of_the_threads():
    turns = Turns(threads=8, waiting=10)
    await turns.start_crowd(4)
    await turns.until_all("h0", "c0", "c1")
    assert turns.threads._lately("crowd") == pytest.approx(0.0, abs=0.05)
    await turns.end()


@in_a_loop
async def test_one_client_alone_has_all_threads_and_the_whole_line():
    turns = Turns(threads=3, waiting=2)
    for number in range(5):
        turns.start("alone", number)
    await turns.until_all(0, 1, 2)  # three threads start at once, in any order
    with pytest.raises(Busy, match="2 searches wait already"):
        await turns.start("alone", 5)
    await turns.end()
    assert sorted(turns.order) == [0, 1, 2, 3, 4]


@in_a_loop
async def test_half_of_the_line_is_left_to_others():
    turns = Turns(threads=1, waiting=4)
    await turns.start_crowd(2)
    await asyncio.sleep(0.02)
    with pytest.raises(Busy):
        await turns.start("crowd", "c2")
    turns.start("honest", "h1")
    await asyncio.sleep(0.02)
    assert turns.threads.in_line == 3
    await turns.end()
    assert sorted(turns.order) == ["c0", "c1", "h0", "h1"]


@in_a_loop
async def test_who_hangs_up_leaves_the_line():
    turns = Turns(threads=1, waiting=1)
    turns.start("a", "first")
    await turns.until("first")
    waits = turns.start("a", "second")
    await asyncio.sleep(0.02)
    turns.gone["second"].set_result(None)
    with pytest.raises(ClientGone):
        await waits
    assert turns.threads.in_line == 0
    turns.start("a", "third")
    await asyncio.sleep(0.02)
    turns.tasks[-1].cancel()
    await asyncio.sleep(0.02)
    assert turns.threads.in_line == 0
    await turns.end()
    assert turns.order == ["first"]


@in_a_loop
async def test_a_cancelled_search_keeps_its_thread_until_it_ends():
    turns = Turns(threads=1, waiting=10)
    first = turns.start("a", "first")
    await turns.until("first")
    first.cancel()
    turns.start("a", "second")
    await asyncio.sleep(0.02)
    assert not first.done()
    assert turns.threads.in_line == 1
    turns.releases["first"].set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await turns.until("first", "second")
    await turns.end()


def test_errors_of_a_schema_are_one_sentence(tmp_path):
    with client_of(tmp_path) as (client, _):
        for body, sentence in [
            ({"query": "red", "k": 101}, "k: input should be less than or equal to 100"),
            ({"query": "red", "colour": 1}, "colour: there is no such field; leave it out"),
            ({}, "query: this field is needed"),
        ]:
            answer = client.post("/search", json=body)
            assert answer.status_code == 422
            assert answer.json() == {"detail": sentence}
        answer = client.get("/explain", params={"query": "red"})
        assert answer.json() == {"detail": "document: this field is needed"}
        answer = client.post("/models/promote", json={}, headers=ADMIN)
        assert answer.json() == {"detail": "version: this field is needed"}
        schema = client.get("/openapi.json").json()
        assert "HTTPValidationError" not in schema["components"]["schemas"]


def test_a_query_that_is_written_out_to_pages_is_refused(tmp_path):
    """One ligature is 18 letters: 500 of them are 2,000 words."""
    with client_of(tmp_path) as (client, service):
        long, search = "\ufdfa" * 500, service.searcher
        for answer in (
            client.post("/search", json={"query": long}),
            client.post("/rank", json={"query": long, "candidates": [{"id": "0"}]}),
            client.get("/explain", params={"query": long, "document": "0"}),
        ):
            assert answer.status_code == 400
            assert "1000 characters with ligatures written out, got 9000" in answer.json()["detail"]
        assert client.get("/", params={"q": long}).status_code == 400
        assert client.get("/suggest", params={"query": long}).status_code == 200
        for usual in ("\u2026" * 300, "e\u0301" * 250, "\uff21" * 500):
            assert client.post("/search", json={"query": usual}).status_code == 200
        service.index.add([{"id": 99, "title": long}])
        service.index.delete(range(24))
        service.index.commit()
        search.warm()  # of a title of ligatures


def test_ranges():
    assert address_range("10.1.2.3") == address_range("10.1.2.200") != address_range("10.1.3.3")
    assert address_range("2001:db8:1:1::1") == address_range("2001:db8:1:ffff::2")
    assert address_range("2001:db8:1:1::1", ipv6=64) != address_range("2001:db8:1:ffff::2", ipv6=64)
    assert address_range("fe80::1%eth0") == "fe80::/48"
    assert address_range("") == address_range(None) == address_range("no address") == "unknown"
    longest = "0000:0000:0000:0000:0000:ffff:192.168.100.200"
    assert address_range(longest) == "192.168.100.0/24"
    assert address_range("1" * 100_000) == address_range(f"{longest}0") == "unknown"
