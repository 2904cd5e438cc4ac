"""The story's end: all its rankers in a service, with the pages people saw behind them."""

import json
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from rankloop._atomic import replacing
from rankloop.clicks import user
from rankloop.demo.collection import CANDIDATES, PAGE
from rankloop.demo.interleaving import put_duel
from rankloop.demo.learners import METRIC
from rankloop.demo.loop import Told
from rankloop.demo.people import put_people
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from rankloop.serve.models.registry import Registry

__all__ = ["prepare", "serve", "typical_search"]

RECORDED = 15_000  # pages that are put into the event store
DUELS = 1000  # interleaved pages, beside


def prepare(told: Told) -> tuple[Path, dict[str, str]]:
    """Write the settings of a service, register every ranker, record the last pages; who serves is in it.

    The unbiased ranker serves if its counterfactual gain is surely above 0, as the gate of the service asks.
    """
    settings = _settings(told)
    config = Config.read(settings)
    config.home.mkdir(parents=True, exist_ok=True)
    with told.story.step("service", "all rankers and the last pages into a service") as found:
        with Store.open(config.database) as store:
            models = Registry(store, config.home / "models")
            versions = {
                name: models.register(told.collection.search(ranker), lineage=_lineage(told, name))
                for name, ranker in told.rankers.items()
            }
            models.promote(versions["bm25"])
            last = told.log.select(np.arange(max(0, told.log.n_pages - RECORDED), told.log.n_pages))
            found["pages"] = put_people(store, last, told.train, version=versions["bm25"], seed=told.seed)
            duel = {versions[name]: told.rankers[name] for name in ("unbiased", "bm25 + popularity")}
            person = user("pbm", max_grade=told.collection.max_grade)
            put_duel(store, told.test, duel, person, pages=DUELS, seed=told.seed)
            if told.counterfactual["unbiased"].low > 0:
                models.promote(versions["unbiased"])
            found["serves"] = models.version(str(models.roles().production)).lineage["name"]
        found["settings"] = str(settings)
    return settings, versions


def serve(settings: Path, versions: dict[str, str], told: Told, port: int) -> None:
    """Serve the page until interrupted; the token of administration is made for this time only."""
    from rankloop.serve.http.process import run

    token = os.environ.get("RANKLOOP_ADMIN_TOKEN") or secrets.token_urlsafe(18)
    config = Config.read(settings).but(admin_token=token)
    asked = urlencode({"q": typical_search(told), "a": versions["bm25"], "b": versions["unbiased"]})
    told.story.say(f"\nToken of administration, for this time: {token}")
    run(config, host="127.0.0.1", port=port, places={"compare": f"/compare?{asked}"})


def typical_search(told: Told) -> str:
    """The held-out search whose change from BM25 is in the middle of all that changed."""
    moved = told.offline.most_changed("unbiased", METRIC, told.test.n_queries)
    moved.sort(key=lambda one: one.difference)
    return str(moved[len(moved) // 2].qid if moved else told.test.qid[0])


def _settings(told: Told) -> Path:
    """A config file beside the index, for `rankloop serve` and `rankloop learn`."""
    collection = told.collection
    path = told.folder / f"{collection.name}.toml"
    plain = {
        "index": collection.index.path.name,
        "site": collection.title,
        "title": collection.shown_as,
        "candidates": CANDIDATES,
        "k": PAGE,
        "swap_rate": 0.1,
        "open_dashboard": True,
        "examples": [typical_search(told), *collection.examples],
        "features": list(collection.features),
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    lines += ["", "[weights]", *(f"{name} = {weight}" for name, weight in collection.weights.items())]
    with replacing(path) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _lineage(told: Told, name: str) -> dict[str, Any]:
    """Where a ranker of the story comes from, and how it did."""
    judged = told.offline.systems[name]
    lineage: dict[str, Any] = {
        "name": name,
        "made": "demo",
        "metrics": {METRIC: [judged.mean[METRIC], *judged.interval[METRIC]]},
        "searches": told.train.n_queries,
    }
    if name in told.counterfactual:
        one = told.counterfactual[name]
        lineage["gain"] = [one.estimate, one.low, one.high]
    if name in ("naive", "unbiased"):
        lineage["window"] = {"pages": told.log.n_pages, "clicks": int(told.log.click.sum())}
    if name == "unbiased":
        lineage["propensity"] = told.seen.to_dict()
        lineage["interleaved"] = [one.to_dict() for one in told.interleaved]
    return lineage
