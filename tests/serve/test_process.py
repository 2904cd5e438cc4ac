"""A real `rankloop serve`, killed in the middle of everything: what was acknowledged is there afterwards."""

import asyncio
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from multiprocessing.reduction import ForkingPickler
from urllib.parse import urlsplit

import httpx
import pytest

from rankloop.cli.serve import serve
from rankloop.search import Index
from rankloop.serve import Service, Store
from rankloop.serve.http.listening import listening
from rankloop.serve.http.process import GARBAGE, SOURCE, run, run_workers, worker
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.web_settings import PREFIX_VARIABLE
from serve.running import ADMIN, TOKEN, another, config, make_index, wait_until

COMMITTER = """
import sys
from rankloop.search import Index
index = Index.open(sys.argv[1])
for number in range(10_000):
    index.update([{"id": 5000 + number, "title": f"purple umbrella {number}", "price": number}])
    index.commit()
    print("committed", flush=True)
"""


@contextmanager
def process(folder, name="shop"):
    """The service as people start it, and a client of it."""
    environment = os.environ | {"RANKLOOP_ADMIN_TOKEN": TOKEN}
    arguments = [str(folder / f"{name}.toml"), "--port", "0"]
    started = subprocess.Popen(
        [sys.executable, "-m", "rankloop", "serve", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output = []
        for line in started.stdout:
            output.append(line)
            if "page " in line:
                address = line.split()[-1]
                break
        else:
            pytest.fail("".join(output))
        with httpx.Client(base_url=address, timeout=30, headers={"user-agent": "Mozilla/5.0"}) as client:
            yield started, client
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()
        started.stdout.close()


class Visitors(threading.Thread):
    """Searches and clicks until the service is gone, and remembers what was acknowledged."""

    def __init__(self, address):
        super().__init__()
        self.address, self.pages, self.events = address, [], []

    def run(self):
        with httpx.Client(base_url=self.address, timeout=10) as client:
            try:
                for number in range(100_000):
                    page = client.post("/search", json={"query": "red shoes", "k": 3}).json()
                    self.pages.append(page["impression"].split(".")[0])
                    click = {"id": f"e{number}", "impression": page["impression"], "kind": "click"}
                    event = {**click, "document": page["results"][0]["id"]}
                    if client.post("/events", json={"events": [event]}).json()["accepted"] == 1:
                        self.events.append((self.pages[-1], event["document"]))
            except httpx.HTTPError:
                return


def promoting(client):
    """Promotes and rolls back until the service is gone."""
    try:
        while True:
            client.post("/models/promote", json={"version": "v2"}, headers=ADMIN)
            client.post("/models/roll_back", headers=ADMIN)
            time.sleep(0.02)
    except httpx.HTTPError:
        return


def test_killed_in_the_middle_of_everything(tmp_path):
    index = make_index(tmp_path)
    (tmp_path / "shop.toml").write_text("index = 'shop.index'\nswap_rate = 0.0\n[limits]\nrate = 0\n")
    with Service.open(config(tmp_path)) as service:
        another(service)
    with process(tmp_path) as (started, client):
        visitors = [Visitors(client.base_url) for _ in range(2)]
        swapping = threading.Thread(target=promoting, args=(client,))
        committer = subprocess.Popen(
            [sys.executable, "-c", COMMITTER, str(index.path)], stdout=subprocess.PIPE, text=True
        )
        for one in (*visitors, swapping):
            one.start()
        assert committer.stdout.readline() == "committed\n"
        wait_until(lambda: sum(len(one.events) for one in visitors) > 40, seconds=60)
        time.sleep(0.3)
        committer.kill()
        committer.wait()
        committer.stdout.close()
        started.send_signal(signal.SIGKILL)
        started.wait()
        for one in (*visitors, swapping):
            one.join()
    pages = {page for one in visitors for page in one.pages}
    events = {event for one in visitors for event in one.events}
    with process(tmp_path) as (started, client):
        wait_until(lambda: client.get("/ready").json()["waiting"] == 0, seconds=60)
        ready = client.get("/ready", headers=ADMIN).json()
        assert ready["ranker"] in ("v1", "v2")
        assert ready["troubles"] == []
        page = client.post("/search", json={"query": "purple"}).json()
        assert page["found"] == len(Index.open(index.path)) - len(index) > 0
        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=60) == 0
        output = started.stdout.read()
        assert TOKEN not in output
        assert (tmp_path / "shop.serve" / "secret").read_text() not in output
    with Store.open(f"sqlite:///{tmp_path}/shop.serve/events.db") as store:
        frame = store.click_frame(include_bots=True)
        assert pages <= set(frame["session"])
        clicked = frame.filter(click=1)
        assert events <= set(zip(clicked["session"], clicked["document"], strict=True))
        assert store.page(page["impression"].split(".")[0]) is not None


def test_a_port_in_use_is_one_sentence(tmp_path):
    make_index(tmp_path)
    with listening("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ValueError, match="is not available"):
            serve(tmp_path / "shop.index", port=taken.getsockname()[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": 99_999}, "a number from 0 to 65535, got 99999"),
        ({"host": "300.1.1.1", "port": 0}, "not an address of this machine"),
        ({"workers": 0, "port": 0}, "workers must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_one_sentence(tmp_path, options, message):
    make_index(tmp_path)
    with pytest.raises(ValueError, match=message):
        serve(tmp_path / "shop.index", **options)


def test_what_is_neither_config_nor_index_is_one_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*nothing\.toml"):
        serve(tmp_path / "nothing.toml")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="no index at"):
        serve(tmp_path / "folder", port=0)


def test_a_first_search_does_not_wait_for_kernels(tmp_path):
    make_index(tmp_path)
    with Service.open(config(tmp_path)) as service:
        service.searcher.warm()
        assert service.search(SearchRequest(query="red")).seconds["total"] < 0.5


def test_several_workers_can_be_reached_where_they_say(tmp_path, monkeypatch, capsys):
    """Whoever reads the address may come at once: the port takes them in before a worker is there."""
    make_index(tmp_path)
    reached = []

    def greeting(service, address, host, places):
        with socket.create_connection((host, urlsplit(address).port), timeout=5):
            reached.append(address)
        return (f"at {address}",)

    monkeypatch.setattr("rankloop.serve.http.process._greeting", greeting)
    told, names = [], (SOURCE, PREFIX_VARIABLE)
    monkeypatch.setattr(
        "rankloop.serve.http.process.Multiprocess.run",
        lambda self: told.append([os.environ[name] for name in names]),
    )
    monkeypatch.setenv(SOURCE, "as before")
    monkeypatch.delenv(PREFIX_VARIABLE, raising=False)
    run_workers(tmp_path / "shop.index", host="127.0.0.1", port=0, workers=2, prefix="/shop")
    assert told == [[str(tmp_path / "shop.index"), "/shop"]]
    assert [os.environ.get(name) for name in names] == ["as before", None], "workers alone are told"
    assert capsys.readouterr().out == f"at {reached[0]}\n"


@pytest.fixture
def thawed():
    """What a test takes out of the search for garbage is put back."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000)  # as the command line does
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


def test_garbage_is_searched_for_often_and_not_in_what_is_made_at_the_start(tmp_path, monkeypatch, thawed):
    """All requests would wait for that, and garbage would pile up between two such searches."""
    make_index(tmp_path)
    searched = []

    def served(server, sockets):
        searched.append(any(one is server.config.app for one in gc.get_objects()))
        assert gc.get_threshold()[0] == GARBAGE

    monkeypatch.setattr("rankloop.serve.http.process._Server.run", served)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    run(config(tmp_path), host="127.0.0.1", port=0)
    assert searched == [False]


def test_one_of_several_workers(tmp_path, monkeypatch, thawed):
    """A worker reads its config anew, searches, and closes its service with its app."""
    make_index(tmp_path)
    (tmp_path / "shop.toml").write_text("index = 'shop.index'\nlearn_every = 60.0\nlearn_after = 5\n")
    monkeypatch.setenv(SOURCE, str(tmp_path / "shop.toml"))
    app = worker()
    service = app.state.service
    assert (service.config.learn_every, service.config.learn_after) == (0.0, 5)
    monkeypatch.setattr("rankloop.serve.http.create_app.learning", lambda settings: 1 / 0)  # the parent does
    assert not any(one is app for one in gc.get_objects())

    async def lifespan():
        async with app.router.lifespan_context(app):
            assert service.search(SearchRequest(query="red")).impression

    asyncio.run(lifespan())
    assert service.recorder.spool.waiting == 0
    assert not service._watcher._thread.is_alive()


def test_workers_share_connections_that_come_together(monkeypatch):
    """Each takes one, and leaves the next to the others for a moment; as many as asked for may wait."""
    monkeypatch.setattr("rankloop.serve.http.listening.MOMENT", 60.0)
    with listening("127.0.0.1", 0) as found, ExitStack() as open_ones:
        found.queue = 20
        found.listen(1)  # as a worker does
        found.setblocking(False)
        for _ in range(6):  # with a queue of one the third would wait until it fails
            open_ones.enter_context(socket.create_connection(found.getsockname(), timeout=5))
        other = open_ones.enter_context(pickle.loads(ForkingPickler.dumps(found)))
        assert (other.queue, other.getsockname()) == (20, found.getsockname())
        other.setblocking(False)
        for worker_socket in (found, other):
            open_ones.enter_context(worker_socket.accept()[0])
            with pytest.raises(BlockingIOError):
                worker_socket.accept()
        found._again = 0.0  # the moment has passed
        open_ones.enter_context(found.accept()[0])


def test_the_only_process_takes_all_that_wait():
    with listening("127.0.0.1", 0) as found, ExitStack() as open_ones:
        found.listen(20)
        for _ in range(6):
            open_ones.enter_context(socket.create_connection(found.getsockname(), timeout=5))
        taken = [open_ones.enter_context(found.accept()[0]) for _ in range(6)]
        assert len({one.getpeername() for one in taken}) == 6
