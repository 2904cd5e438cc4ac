"""Life and death: databases away or restored, people who are forgotten, processes that are killed."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import httpx
import pytest

from rankloop.serve import Service, Store
from rankloop.serve.events.store import Event, StoreAway
from rankloop.serve.http.schema import EventIn, SearchRequest
from rankloop.serve.learning.process import _PROGRAM
from serve.conftest import make_click, make_page
from serve.running import (
    ADMIN,
    another,
    children,
    client_of,
    config,
    make_index,
    on_a_port,
    serving,
    wait_until,
)


def alive(process):
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="children are found where Linux lists them")
def test_workers_end_with_their_supervisor(tmp_path):
    """Also when it is killed without a chance to tell them."""
    make_index(tmp_path)
    options = [str(tmp_path / "shop.index"), "--port", "0", "--workers", "2"]
    started = subprocess.Popen(
        [sys.executable, "-m", "rankloop", "serve", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        address = next(line.split()[-1] for line in started.stdout if "page " in line)
        with httpx.Client(base_url=address, timeout=60) as client:
            assert client.get("/health").status_code == 200
        workers = children(started.pid)
        assert len(workers) >= 2
        started.send_signal(signal.SIGKILL)
        started.wait()
        wait_until(lambda: not any(alive(one) for one in workers), seconds=30)
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


@pytest.mark.slow
def test_few_open_files_are_no_flood_of_errors(tmp_path):
    """A crowd of connections where a process may have 400 files: 4,000 errors a second were logged."""
    make_index(tmp_path)
    log, few = tmp_path / "log", (400, 400)
    with log.open("w") as errors:
        started = subprocess.Popen(
            [sys.executable, "-m", "rankloop", "serve", str(tmp_path / "shop.index"), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
        )
    crowd = []
    try:
        address = httpx.URL(next(line.split()[-1] for line in started.stdout if "page " in line))
        for _ in range(600):
            with contextlib.suppress(OSError):
                crowd.append(socket.create_connection(("127.0.0.1", address.port), timeout=5))
        with httpx.Client(base_url=address, timeout=60) as client:
            assert client.post("/search", json={"query": "red"}).status_code == 200
    finally:
        for one in crowd:
            one.close()
        started.kill()
        started.wait()
        started.stdout.close()
    assert len(crowd) > 300
    assert log.read_text().count("Too many open files") < 200


def test_learning_ends_when_its_pipe_is_closed():
    """The service that started it is gone: nothing is promoted behind its back."""
    slow = _PROGRAM.partition("from rankloop")[0] + "import time; print('begun', flush=True); time.sleep(60)"
    learning = subprocess.Popen(
        [sys.executable, "-c", slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    learning.stdin.write('{"asked": {}}\n')
    learning.stdin.flush()
    assert learning.stdout.readline() == "begun\n"
    learning.stdin.close()
    assert learning.wait(timeout=30) == 1
    learning.stdout.close()


def event(page, number=0):
    return EventIn(id=f"e{number}", impression=page.impression, kind="click", document=page.results[0].id)


def test_a_service_starts_while_its_database_is_away(tmp_path, postgres):
    """It serves what served last, takes pages and events, and stores them when the database is back."""
    database = postgres.database()
    make_index(tmp_path)
    with Service.open(config(tmp_path, database=database)) as service:
        service.versions.promote(another(service))
    away = database.replace(f":{postgres.port}/", ":1/")
    with Service.open(config(tmp_path, database=away)) as service, on_a_port(service) as client:
        page = client.post("/search", json={"query": "red"}, headers=ADMIN).json()
        assert page["ranker"] == "v2"
        sent = {
            "id": "e1",
            "impression": page["impression"],
            "kind": "click",
            "document": page["results"][0]["id"],
        }
        assert client.post("/events", json={"events": [sent]}).json()["accepted"] == 1
        ready = client.get("/ready", headers=ADMIN).json()
        assert ready["ready"]
        wait_until(lambda: client.get("/ready").json()["database"] == "away")
        assert any("does not answer" in one for one in client.get("/ready", headers=ADMIN).json()["troubles"])
        assert client.get("/models", headers=ADMIN).status_code == 503
        assert client.get("/", params={"q": "red"}).status_code == 200
        with pytest.raises(StoreAway):
            service.store.daily()
    with Service.open(config(tmp_path, database=database)) as service:
        wait_until(lambda: service.recorder.spool.waiting == 0)
        assert service.store.click_frame(include_bots=True)["click"].sum() == 1
        assert service.store.page(page["impression"].split(".")[0]).ranker == "v2"


def test_a_database_that_comes_back_is_used(tmp_path, monkeypatch):
    """The first start of all, with BM25 under its own name until there is a registry."""
    from rankloop.serve.events import connections

    make_index(tmp_path)
    transaction, away = connections._transaction, threading.Event()
    away.set()

    def sometimes(these, *, writes):
        if away.is_set():
            raise StoreAway("the event store does not answer: it is away")
        return transaction(these, writes=writes)

    monkeypatch.setattr(connections, "_transaction", sometimes)
    with serving(tmp_path) as service:
        page = service.search(SearchRequest(query="red shoes", user="ann"))
        assert page.ranker == "bm25"
        assert service.record([event(page)]).accepted == 1
        away.clear()
        wait_until(lambda: service.versions.live.roles.production == "v1")
        wait_until(lambda: service.recorder.spool.waiting == 0)
        assert service.store.click_frame()["click"].sum() == 1
        wait_until(lambda: not service.troubles)
        assert json.loads((tmp_path / "shop.serve" / "serving.json").read_text())["production"] == "v1"


@pytest.mark.parametrize("skew", [-1e6, 0.0, 1e6])
def test_forgetting_holds_whatever_the_clock_does(store, skew):
    """Pages shown before it are gone or never stored, also with times of the future; later ones are kept."""
    stored = make_page(user="ada", shown=1e9 + skew, epoch=store.forget_epoch())
    waiting = make_page(user="ada", shown=1e9 + skew, epoch=store.forget_epoch())
    store.put_pages([stored])
    store.put_events([make_click(stored, "a")])
    assert store.forget("ada", now=1e9) == 1
    assert store.put_pages([waiting]) == 0
    assert store.put_events([make_click(waiting, "a"), make_click(stored, "b")]) == 0
    later = make_page(user="ada", shown=1e9 - 2e6, epoch=store.forget_epoch())
    assert store.put_pages([later]) == 1
    assert store.put_events([make_click(later, "a")]) == 1
    assert store.forget("ada", now=0.0) == 1
    assert store.put_pages([replace(later, page_id="1" * 32)]) == 0
    assert store.put_pages([make_page(user="ada", shown=2e9, epoch=store.forget_epoch())]) == 1
    assert store.put_pages([make_page(user="bob", shown=1.0, epoch=0)]) == 1


def test_events_that_came_before_a_forgotten_page_go_with_it(store):
    waiting = make_page(user="ada", epoch=0)
    store.put_events([make_click(waiting, "a")])
    store.forget("ada")
    store.put_pages([waiting])
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar() == 0


def test_a_restored_database_forgets_again(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        service.search(SearchRequest(query="red shoes", user="ann"))
        service.search(SearchRequest(query="red hat", user="bob"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
    database = tmp_path / "shop.serve" / "events.db"
    shutil.copy(database, tmp_path / "backup.db")
    with Service.open(config(tmp_path)) as service:
        assert service.forget("ann") == 1
        assert service.forget("ann") == 0
    assert (tmp_path / "shop.serve" / "forgotten").stat().st_mode & 0o777 == 0o600
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(f"{database}{suffix}"):
            os.unlink(f"{database}{suffix}")
    shutil.copy(tmp_path / "backup.db", database)
    with Store.open(f"sqlite:///{database}") as store:
        assert len(set(store.click_frame()["query"])) == 2
    with Service.open(config(tmp_path)) as service:
        assert set(service.store.click_frame()["query"]) == {"red hat"}
        service.search(SearchRequest(query="blue shoes", user="ann"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
        assert set(service.store.click_frame()["query"]) == {"red hat", "blue shoes"}


def test_others_learn_of_a_forgetting(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as one, Service.open(config(tmp_path)) as two:
        one.search(SearchRequest(query="red shoes", user="ann"))
        wait_until(lambda: one.recorder.spool.waiting == 0)
        one.forget("ann")
        wait_until(lambda: two.recorder.forgotten.epoch == one.recorder.forgotten.epoch == 1)
        two.search(SearchRequest(query="red hat", user="ann"))
        wait_until(lambda: two.recorder.spool.waiting == 0)
        wait_until(lambda: set(one.store.click_frame()["query"]) == {"red hat"})


@pytest.mark.parametrize(
    "end",
    [
        "9999-12-31",
        "9999-12",
        "9999",
        "9999-12-31T23:59:59",
        "9999-12-31T23:59:59.999999+00:00",
        "9999-12-31T23:59:59-23:59",
        "10000-01-01",
        "0001-01-01",
        "0001-01-01T00:00:00+23:59",
        "-0001-01-01",
        "0000",
    ],
)
def test_dates_at_the_end_of_time(end, dates):
    """They are searched, or refused with a sentence: never an error of the service."""
    client = dates
    for filters in ({"added": end}, {"added": {"min": end}}, {"added": {"max": end}}):
        answer = client.post("/search", json={"query": "red", "filters": filters})
        assert answer.status_code in (200, 400), answer.text
    for query in (f"added:{end}", f"added:{end}..", f"added:..{end}", f"added:>{end}"):
        assert client.post("/search", json={"query": query}).status_code in (200, 400)
        assert client.get("/", params={"q": query}).status_code in (200, 400)
    for value in (end, f"{end}..", f"..{end}"):
        assert client.get("/", params={"q": "red", "f.added": value}).status_code in (200, 400)


@pytest.fixture(scope="module")
def dates(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("dates"), swap_rate=0.0) as (client, _):
        yield client


@pytest.mark.parametrize("moment", [1e300, -1e300, 253402300800.0, float("inf"), float("nan")])
def test_times_beyond_the_calendar_are_refused(moment):
    with pytest.raises(ValueError, match="seconds since 1970"):
        make_page(shown=moment)
    with pytest.raises(ValueError, match="seconds since 1970"):
        Event("e", "0" * 32, "click", "a", time=moment)
