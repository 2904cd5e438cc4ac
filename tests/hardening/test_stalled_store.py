"""A database that is slow or hangs: requests that need it end with 503 in time, and others do not notice."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from rankloop.serve import Store
from rankloop.serve.config import Limits
from rankloop.serve.events.store import StoreAway
from rankloop.serve.events.time_limit import time_limit
from rankloop.serve.http import create_app
from serve.running import ADMIN, children, on_a_port, serving, wait_until

SECONDS = 1.0  # the limit of a request
LATE = 8.0  # seconds by which it must be answered, on a busy machine
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
ON_THE_STORE = (
    ("GET", "/models"),
    ("GET", "/experiments"),
    ("GET", "/dashboard"),
    ("GET", "/judge/export?format=trec"),
    ("POST", "/forget"),
    ("POST", "/models/roll_back"),
)


@contextmanager
def patient(folder, database):
    limits = Limits(rate=0.0, store_seconds=SECONDS)
    with (
        serving(folder, database=database, limits=limits, open_dashboard=True) as service,
        on_a_port(service) as client,
    ):
        assert client.get("/models", headers=ADMIN).status_code == 200
        wait_until(lambda: service.recorder.spool.waiting == 0)
        yield client


def asked(client, method, path):
    """The status of an answer, its header Retry-After, and how long it took."""
    start = time.monotonic()
    body = {"json": {"user": "ann"}} if path == "/forget" else {}
    answer = client.request(method, path, headers=ADMIN, timeout=60, **body)
    assert "postgresql" not in answer.text, "where the database is concerns nobody"
    return answer.status_code, answer.headers.get("retry-after"), time.monotonic() - start


def still_works(client):
    """Searches and events need no database."""
    page = client.post("/search", json={"query": "red"}, timeout=LATE).json()
    sent = {"id": f"e{time.monotonic_ns()}", "impression": page["impression"], "kind": "click"}
    sent["document"] = page["results"][0]["id"]
    return client.post("/events", json={"events": [sent]}, timeout=LATE).json()["accepted"] == 1


def check_stalled(client):
    """Many requests of each kind come at once; all of them end in time."""
    with ThreadPoolExecutor(24) as crowd:
        waiting = [crowd.submit(asked, client, *one) for one in ON_THE_STORE * 4]
        assert still_works(client)
        found = [one.result() for one in waiting]
    assert {status for status, _, _ in found} == {503}
    assert {retry for _, retry, _ in found} == {"5"}
    assert max(seconds for _, _, seconds in found) < LATE


@pytest.fixture
def locked(postgres):
    """A database, and a way to lock its tables as a long change of their schema does."""
    psycopg = pytest.importorskip("psycopg")
    database = postgres.database()

    @contextmanager
    def lock():
        with psycopg.connect(database.replace("+psycopg", "")) as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            ).fetchall()
            assert len(found) > 5
            connection.execute(f"LOCK TABLE {', '.join(name for (name,) in found)} IN ACCESS EXCLUSIVE MODE")
            yield
            connection.rollback()

    return database, lock


def test_locked_tables_hold_nobody(tmp_path, locked):
    database, lock = locked
    with patient(tmp_path, database) as client:
        with lock():
            check_stalled(client)
        wait_until(lambda: client.get("/models", headers=ADMIN).status_code == 200)
        wait_until(lambda: client.get("/ready").json()["waiting"] == 0)


@contextmanager
def stopped(postgres):
    """All processes of the server, stopped: their sockets stay open, and nothing is answered."""
    head = int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    pids = [head, *children(head)]
    assert len(pids) > 1
    try:
        _signal(pids, signal.SIGSTOP)
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids, what):
    """Sent to all that are still there: a server ends processes of its own."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="processes are found where Linux lists them"
)
def test_a_stopped_server_holds_nobody(tmp_path, postgres):
    with patient(tmp_path, postgres.database()) as client:
        with stopped(postgres):
            check_stalled(client)
        wait_until(lambda: client.get("/models", headers=ADMIN).status_code == 200)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="processes are found where Linux lists them"
)
def test_a_connection_in_use_is_cut(postgres):
    """In the middle of a statement, and also in a thread that has no limit of its own when it takes one."""
    with Store.open(postgres.database()) as store:
        with pytest.raises(StoreAway, match="statement timeout"), time_limit(0.5), store.reading() as reading:
            reading.exec_driver_sql("SELECT pg_sleep(60)")
        with (
            pytest.raises(StoreAway, match="does not answer"),
            time_limit(0.5),
            store.reading() as reading,
            stopped(postgres),
        ):
            reading.exec_driver_sql("SELECT 1")
        with stopped(postgres), pytest.raises(StoreAway, match="does not answer"):
            store.daily()
        assert store.daily() == []


def test_statements_of_sqlite_are_interrupted(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'events.db'}") as store:
        start = time.monotonic()
        with pytest.raises(StoreAway, match="interrupted"), time_limit(0.2), store.reading() as reading:
            reading.exec_driver_sql(FOREVER)
        assert time.monotonic() - start < LATE
        with time_limit(0.01):
            time.sleep(0.02)
            with pytest.raises(StoreAway, match="in time"):
                store.daily()
        assert store.daily() == []


def test_a_connection_that_was_given_back_is_not_cut(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'events.db'}") as store:
        with time_limit(0.1):
            store.daily()
        time.sleep(1.3)
        with store.reading() as reading:
            assert reading.exec_driver_sql("SELECT 1").scalar() == 1


def test_threads_that_never_end_are_few(tmp_path, monkeypatch):
    """A disk that hangs cannot be interrupted: as many threads are lost as there are, and no more."""
    monkeypatch.setattr(create_app, "ON_STORE", 3)
    end, held = threading.Event(), []
    limits = Limits(rate=0.0, store_seconds=0.5, waiting=10)
    with serving(tmp_path, limits=limits) as service, on_a_port(service) as client:

        def hangs():
            if threading.current_thread().name != "rankloop-watch":
                held.append(1)
                end.wait(60)
            return []

        monkeypatch.setattr(service.experiments, "every", hangs)
        with ThreadPoolExecutor(20) as crowd:
            paths = [("GET", "/experiments")] * 20
            found = list(crowd.map(lambda one: asked(client, *one), paths))
            assert still_works(client)
        assert {status for status, _, _ in found} == {503}
        assert max(seconds for _, _, seconds in found) < LATE
        assert len(held) == 3
        end.set()
        wait_until(lambda: client.get("/experiments", headers=ADMIN).status_code == 200)
