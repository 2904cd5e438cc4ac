"""The demo as a service: every ranker a version, and the simulated pages in its event store."""

import json
import os
import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from rankloop._atomic import replacing
from rankloop.clicks import user
from rankloop.demo.collection import CANDIDATES, PAGE
from rankloop.demo.interleaving import put_duel
from rankloop.demo.learners import METRIC
from rankloop.demo.people import put_people
from rankloop.demo.run_loop import Demo
from rankloop.serve.config import Config
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.events.store import Rating, Store
from rankloop.serve.models.registry import Registry

__all__ = ["HELD_OUT", "prepare", "serve", "token_of_run"]

RECORDED = 15_000  # pages that are put into the event store
GAINS = 4  # searches to try that learning improved
LEARN_AFTER = 20  # pages with a click after which what visitors did is learned from
DUELS = 1000  # interleaved pages in the event store
HELD_OUT = "held-out"  # the query set of the searches that were not learned from


def prepare(demo: Demo) -> tuple[Path, dict[str, str]]:
    """Write the settings of a service, register every ranker, record the last pages; versions by name.

    The unbiased ranker serves if the interval of its gain is above 0, as in the gate of the service.
    """
    settings = _settings(demo)
    config = Config.read(settings)
    config.home.mkdir(parents=True, exist_ok=True)
    with demo.steps.step("service", "a service with all rankers and the last pages") as found:
        with Store.open(config.database) as store:
            models = Registry(store, config.home / "models")
            versions = {
                name: models.register(demo.collection.pipeline(ranker), lineage=_lineage(demo, name))
                for name, ranker in demo.rankers.items()
            }
            models.promote(versions["bm25"])
            last = demo.log.select(np.arange(max(0, demo.log.n_pages - RECORDED), demo.log.n_pages))
            found["pages"] = put_people(store, last, demo.train, version=versions["bm25"], seed=demo.seed)
            duel = {versions[name]: demo.rankers[name] for name in ("unbiased", "bm25 + popularity")}
            person = user("pbm", max_label=demo.collection.max_label)
            # On searches that were learned from: clicks on the others would teach the service their answers.
            put_duel(store, demo.train, duel, person, pages=DUELS, seed=demo.seed)
            _put_judgments(store, demo)
            if demo.counterfactual["unbiased"].low > 0:
                models.promote(versions["unbiased"])
            found["serves"] = models.version(str(models.roles().production)).lineage["name"]
        found["settings"] = str(settings)
    return settings, versions


def token_of_run() -> str:
    """RANKLOOP_ADMIN_TOKEN, which may be refused; without it, a new one."""
    token = os.environ.get("RANKLOOP_ADMIN_TOKEN") or secrets.token_urlsafe(18)
    return Config("", admin_token=token).admin_token


def serve(
    settings: Path, versions: dict[str, str], port: int, token: str, *, open_browser: bool = False
) -> None:
    """Serve the page until interrupted."""
    from rankloop.serve.http.process import run

    config = Config.read(settings).but(admin_token=token)
    query = urlencode({"set": HELD_OUT, "a": versions["bm25"], "b": versions["unbiased"]})
    print(f"\nAdmin token of this run: {token}", flush=True)
    places = {"compare": f"/compare?{query}", "the loop": "/loop"}
    run(config, host="127.0.0.1", port=port, open_browser=open_browser, places=places)


def _put_judgments(store: Store, demo: Demo) -> None:
    """The test searches as a query set, and the grades of all that a ranker shows for them."""
    queries = [str(one) for one in demo.test.qid]
    made = "the searches that were not learned from, with the graded answers of the demo"
    put_query_set(store, HELD_OUT, [SetQuery(one) for one in queries], author="demo", made=made)
    scores = [ranker.predict(demo.test.X) for ranker in demo.rankers.values()]
    ratings, now, documents = [], time.time(), np.asarray(demo.test.docid)
    for at, query in enumerate(queries):
        rows = slice(*demo.test.offsets[at : at + 2])
        shown = {int(row) for one in scores for row in np.argsort(-one[rows], kind="stable")[:PAGE]}
        ids = [str(documents[rows][row]) for row in sorted(shown)]
        grades = dict.fromkeys(ids, 0) | dict(demo.collection.searches[query])
        ratings += [Rating(query, id, "demo", float(grade), "", "demo", now) for id, grade in grades.items()]
    store.put_ratings(ratings)


def _examples(demo: Demo) -> dict[str, Any]:
    """Searches to try: the test searches that learning changed most, for the better and for the worse."""
    moved = demo.offline.most_changed("unbiased", METRIC, demo.test.n_queries)
    gains = [str(one.qid) for one in moved if one.difference > 0][:GAINS]
    losses = [str(one.qid) for one in moved if one.difference < 0][:1]
    title = f"The {len(gains)} searches that learning improved most"
    worst = ", and at the end the one that it made worst" if losses else ""
    told = f"{title}{worst}. It learned from other searches."
    return {"examples": [*gains, *losses], "examples_are": told} if gains else {"examples": losses}


def _settings(demo: Demo) -> Path:
    """A config file beside the index, for `rankloop serve` and `rankloop learn`."""
    collection = demo.collection
    path = demo.folder / f"{collection.name}.toml"
    plain = {
        "index": collection.index.path.name,
        "site": collection.title,
        "title": collection.title_field,
        "candidates": CANDIDATES,
        "k": PAGE,
        "swap_rate": 0.1,
        "learn_after": LEARN_AFTER,
        "learn_budget": "quick",
        "open_dashboard": True,
        **_examples(demo),
        "features": list(collection.features),
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    lines += ["", "[weights]", *(f"{name} = {weight}" for name, weight in collection.weights.items())]
    lines += ["", "[influence]", "voices = 1  # one visitor teaches here; a site that is open to all keeps 3"]
    with replacing(path) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _lineage(demo: Demo, name: str) -> dict[str, Any]:
    """Where a ranker of the demo comes from, and how good it is."""
    judged = demo.offline.systems[name]
    lineage: dict[str, Any] = {
        "name": name,
        "made": "demo",
        "metrics": {METRIC: [judged.mean[METRIC], *judged.interval[METRIC]]},
        "searches": demo.train.n_queries,
    }
    if name in demo.counterfactual:
        one = demo.counterfactual[name]
        lineage["gain"] = [one.estimate, one.low, one.high]
    if name in ("naive", "unbiased"):
        lineage["window"] = {"pages": demo.log.n_pages, "clicks": int(demo.log.click.sum())}
    if name == "unbiased":
        lineage["propensity"] = demo.propensity.to_dict()
        lineage["interleaved"] = [one.to_dict() for one in demo.interleaved]
    return lineage
