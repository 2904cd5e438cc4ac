"""A small shop, its service, and the service on a real port of loopback."""

import os
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve import Config, Service
from rankloop.serve.http.process import web

TOKEN = "the token of the tests"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
TITLES = (
    "red running shoes",
    "blue running shoes",
    "red hat",
    "green hat for running",
    "shoe polish",
    '<script>alert("title")</script> shoes',
)


def make_index(folder, *, copies=4):
    """An index of a few kinds of things, several times."""
    fields = {"title": "text", "body": "text", "brand": "keyword", "price": "number", "added": "date"}
    index = Index.create(folder / "shop.index", fields)
    index.add(
        {
            "id": number,
            "title": title,
            "body": f"number {number}: a fine {title}",
            "brand": ("Hare", "Tortoise")[number % 2],
            "price": 10 * number,
            "added": f"20{10 + number % 10}-01-01",
            "url": "https://shop.example/1" if number else "javascript:alert(1)",
        }
        for number, title in enumerate(TITLES * copies)
    )
    index.commit()
    return index


def config(folder, **settings):
    """Settings for tests: a token, no limit of the rate."""
    from rankloop.serve.config import Limits

    defaults = {"index": folder / "shop.index", "admin_token": TOKEN, "limits": Limits(rate=0.0)}
    return Config(**(defaults | settings))


@contextmanager
def serving(folder, **settings):
    """The service of a new shop."""
    if not (folder / "shop.index").exists():
        make_index(folder)
    with Service.open(config(folder, **settings)) as service:
        service.searcher.warm()  # where kernels are not compiled yet, a search would pass its deadline
        yield service


def another(service, **weights):
    """One more version, which ranks by other weights of the features."""
    features = Features.standard(service.index)
    ranker = FeatureSum(weights or {"value(price)": 1.0}, features=features.names)
    search = service.index.retriever(k=100) >> features >> ranker >> first(10)
    return service.registry.register(search, lineage={"name": "another"})


@contextmanager
def on_a_port(service):
    """A client of the service, which runs in a thread as it does in production."""
    server = uvicorn.Server(web(service, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def client_of(folder, **settings):
    """A client of a new shop, and its service."""
    with serving(folder, **settings) as service, on_a_port(service) as client:
        yield client, service


def children(parent):
    """The processes that a process started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until(true, seconds=20.0):
    """Wait for something to become true, or fail."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
