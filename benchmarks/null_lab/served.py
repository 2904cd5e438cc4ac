"""The verdicts of the service: on generated stores, and end to end over HTTP, where nothing differs."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn
from sqlalchemy import delete

from null_lab.cell import Cell, false_alarms, runs
from null_lab.experiments import Site
from rankloop.interleaving import method
from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve import Config, Service
from rankloop.serve.config import InfluenceSettings, Limits
from rankloop.serve.events.records import DAY, feature_key, page_row
from rankloop.serve.events.shown_page import ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import clicks, pages
from rankloop.serve.events.writing import insert_new
from rankloop.serve.experiments.experiments import Experiment, Experiments
from rankloop.serve.http.process import web

__all__ = ["cells"]

CROWDS = ("light", "zipf", "heavy")
TOKEN = "the token of the laboratory"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
RANKINGS = ("abcdef", "bcdefa")  # of the two versions
LOOKS = 10  # at the dashboard, while an experiment runs


def cells(quick: bool) -> Iterator[Cell]:
    experiments = 20 if quick else runs(quick)
    sites = [*(Site(200, crowd) for crowd in CROWDS), *([] if quick else [Site(2000)])]
    for site in sites:
        for kind, how in (("ab", ""), ("interleave", "team_draft"), ("interleave", "probabilistic")):
            yield _stored(kind, how, site, experiments)
    for kind in ("ab", "interleave"):
        yield _over_http(kind, 2 if quick else 20, Site(120 if quick else 200, "light"))


def _stored(kind: str, how: str, site: Site, experiments: int) -> Cell:
    """`Experiments.progress`, as the dashboard and the API show it, on pages written to a store.

    It judges all looks at once: the first winner stays.
    """
    rng = np.random.default_rng([len(kind), len(how), len(site.crowd), site.people])
    alarms = 0
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/events.db") as store:
        every = Experiments(store)
        for number in range(experiments):
            one = every.start("v1", "v2", kind=kind, how=how or "team_draft")
            fill(store, one, site, rng, number)
            found = every.progress(one).verdict
            alarms += found is not None and found["winner"] is not None
            every.end(one.id)
            with store.writing() as connection:
                for table in (pages, clicks):
                    connection.execute(delete(table))
    name = f"{kind}{f' by {how}' if how else ''}, {site.people:,} {site.crowd}, generated store"
    return false_alarms("served verdict", name, alarms, experiments)


def fill(store: Store, one: Experiment, site: Site, rng: np.random.Generator, number: int) -> None:
    """Pages in which the version changes nothing: clicks depend on the person and the place alone.

    Rows of the tables are written at once: they are those that `Store.put_pages` and `put_events` write, and
    that takes ten times as long.
    """
    seen = site.visits(rng)
    shown, chance = _lists(one.kind, one.method)
    drawn = rng.choice(len(shown), len(seen.user), p=chance)
    place = rng.integers(len(RANKINGS[0]), size=len(seen.user))
    of_pages, of_clicks = [], []
    for at, (user, arm, value) in enumerate(zip(seen.user.tolist(), seen.arm, seen.value, strict=True)):
        row, documents = shown[drawn[at]]
        moment = one.started + at
        own = {
            "page_id": f"{number:016x}{at:016x}",
            "time": moment,
            "day": int(moment // DAY),
            "experiment": one.id,
            "ranker": row["ranker"] or (one.a if arm else one.b),
        }
        of_pages.append({**row, **own, "user": f"{number} {user}"})
        if value:
            which = int(place[at])
            rest = {name: row[name] for name in ("query", "layout", "bot")}
            click = {"document": documents[which], "position": which + 1, "clicked": moment + 1}
            of_clicks.append({**own, **rest, **click})
    with store.writing() as connection:
        insert_new(connection, pages, of_pages)
        insert_new(connection, clicks, of_clicks)


@cache
def _lists(kind: str, how: str) -> tuple[list[tuple[dict[str, Any], tuple[str, ...]]], list[float]]:
    """Every list that may be shown, as a row of `pages` without what is a page's own, and its probability."""
    if kind == "ab":
        return [_row(tuple(RANKINGS[0]), "", policy="ab")], [1.0]
    lists = [list(one) for one in RANKINGS]
    every = list(method(how).distribution(lists, len(lists[0])))
    rows = [
        _row(page.documents, "v1 + v2", policy="interleave", randomness=page.to_dict()) for page, _ in every
    ]
    total = sum(chance for _, chance in every)
    return rows, [chance / total for _, chance in every]


def _row(documents: tuple[str, ...], ranker: str, **more: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    count = len(documents)
    scores, features = np.zeros(count), np.zeros((count, 1), np.float32)
    page = ShownPage("0" * 32, 0.0, "query", documents, scores, features, ("x",), ranker, **more)
    return page_row(page, feature_key(("x",))), documents


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
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
