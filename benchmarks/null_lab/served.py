"""The verdicts of the service: on generated stores, and end to end over HTTP, where nothing differs."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

from null_lab.cell import Cell, false_alarms, runs
from null_lab.experiments import Site
from rankloop.interleaving import method
from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve import Config, Service
from rankloop.serve.config import InfluenceSettings, Limits
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.experiments.experiments import Experiment, Experiments
from rankloop.serve.http.process import web

__all__ = ["cells"]

CROWDS = ("light", "zipf", "heavy")
TOKEN = "the token of the laboratory"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
LOOKS = 10  # at the dashboard, while an experiment runs


def cells(quick: bool) -> Iterator[Cell]:
    experiments = 20 if quick else runs(quick)
    for crowd in CROWDS:
        for kind, how in (("ab", ""), ("interleave", "team_draft"), ("interleave", "probabilistic")):
            yield _stored(kind, how, Site(200, crowd), experiments)
    for kind in ("ab", "interleave"):
        yield _over_http(kind, 2 if quick else 20, Site(120 if quick else 200, "light"))


def _stored(kind: str, how: str, site: Site, experiments: int) -> Cell:
    """`Experiments.progress`, as the dashboard and the API show it, on pages written to a store."""
    rng = np.random.default_rng([len(kind), len(how), len(site.crowd)])
    alarms = 0
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/events.db") as store:
        every = Experiments(store)
        for number in range(experiments):
            one = every.start("v1", "v2", kind=kind, how=how or "team_draft")
            pages, clicks = _pages(one, site, rng, number)
            store.put_pages(pages)
            store.put_events(clicks)
            found = every.progress(one).verdict
            alarms += found is not None and found["winner"] is not None
            every.end(one.id)
    name = f"{kind}{f' by {how}' if how else ''}, {site.people} {site.crowd}, generated store"
    return false_alarms("served verdict", name, alarms, experiments)


def _pages(
    one: Experiment, site: Site, rng: np.random.Generator, number: int
) -> tuple[list[ShownPage], list[Event]]:
    """Pages in which the version changes nothing: clicks depend on the person and the place alone."""
    seen = site.visits(rng)
    combine = method(one.method, seed=number) if one.kind == "interleave" else None
    pages, clicks = [], []
    for at in range(min(len(seen.user), 3000)):
        documents: tuple[str, ...] = tuple("abcdef")
        more: dict[str, Any] = {"policy": "ab"}
        ranker = one.a if seen.arm[at] else one.b
        if combine is not None:
            page = combine.combine([list("abcdef"), list("bcdefa")], k=6)
            documents, ranker = page.documents, "v1 + v2"
            more = {"policy": "interleave", "randomness": page.to_dict()}
        page_id = f"{number:016x}{at:016x}"
        moment = one.started + at
        shown = ShownPage(
            page_id,
            moment,
            "query",
            documents,
            np.zeros(len(documents)),
            np.zeros((len(documents), 1), np.float32),
            ("x",),
            ranker,
            user=f"{number} {seen.user[at]}",
            experiment=one.id,
            **more,
        )
        pages.append(shown)
        if seen.value[at]:
            place = int(rng.integers(len(documents)))
            clicks.append(
                Event(f"e{at}", page_id, "click", documents[place], position=place + 1, time=moment + 1)
            )
    return pages, clicks


def _over_http(kind: str, experiments: int, site: Site) -> Cell:
    """Searches, clicks and looks at the verdict by requests to a running service."""
    rng = np.random.default_rng(len(kind))
    alarms = 0
    with tempfile.TemporaryDirectory() as folder, _running(Path(folder)) as client:
        for number in range(experiments):
            body = {"kind": kind, "a": "v1", "b": "v2"}
            id = client.post("/experiments", json=body, headers=ADMIN).raise_for_status().json()["id"]
            seen = site.visits(rng)
            named = False
            for at, user in enumerate(seen.user):
                asked = {"query": "red shoes", "user": f"{number} {user}"}
                page = client.post("/search", json=asked).raise_for_status().json()
                if seen.value[at]:
                    results = page["results"]
                    event = {
                        "id": f"{number}-{at}",
                        "impression": page["impression"],
                        "kind": "click",
                        "document": results[int(rng.integers(len(results)))]["id"],
                    }
                    client.post("/events", json={"events": [event]}).raise_for_status()
                if at % max(len(seen.user) // LOOKS, 1) == 0:
                    named |= _winner(client, id)
            time.sleep(0.5)  # until the last event is stored
            alarms += named | _winner(client, id)
            client.post(f"/experiments/{id}/end", headers=ADMIN).raise_for_status()
    return false_alarms("served verdict", f"{kind}, {site.people} people, over HTTP", alarms, experiments)


def _winner(client: httpx.Client, id: str) -> bool:
    found = client.get(f"/experiments/{id}", headers=ADMIN).raise_for_status().json()["verdict"]
    return found is not None and found["winner"] is not None


@contextmanager
def _running(folder: Path) -> Iterator[httpx.Client]:
    """A service with two versions that rank by other things, and a client."""
    index = Index.create(folder / "shop.index", {"title": "text", "price": "number"})
    index.add({"id": n, "title": f"red shoes {n % 7}", "price": (n * 37) % 101} for n in range(60))
    index.commit()
    config = Config(
        index=folder / "shop.index",
        admin_token=TOKEN,
        limits=Limits(rate=0.0, seconds=60.0),  # a busy machine is no matter of verdicts
        swap_rate=0.0,
        influence=InfluenceSettings(origin=0.0),  # all people of the laboratory have one address
    )
    with Service.open(config) as service:
        features = Features.standard(service.index)
        ranker = FeatureSum({"value(price)": 1.0}, features=features.names)
        search = service.index.retriever(k=100) >> features >> ranker >> first(10)
        service.registry.register(search, lineage={"name": "by price"})
        server = uvicorn.Server(web(service, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
