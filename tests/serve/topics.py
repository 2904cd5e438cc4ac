"""A shop of topics whose quality the words say nothing about, and a simulated crowd that wants it."""

import numpy as np

from rankloop.clicks import simulate, user
from rankloop.demo.people import put_people
from rankloop.search import Index
from rankloop.serve import Config
from rankloop.serve.config import GateSettings, Limits

DOCUMENTS = 10  # of each topic


def topics(count):
    return [f"topic{at}" for at in range(count)]


def graded_documents(random, names, count, title=str):
    """Documents of each topic with a quality and a noise that their words do not tell."""
    for topic in names:
        for at in range(count):
            yield {
                "id": f"{topic}-{at}",
                "title": title(topic),
                "quality": float(random.normal()),
                "noise": float(random.normal()),
            }


def shop_of_topics(folder, count, **settings):
    """The settings of a service over ten documents of each topic."""
    random = np.random.default_rng(0)
    index = Index.create(folder / "shop.index", fields={"title": "text", "quality": "number"})
    index.add(
        {"id": f"{topic}-{at}", "title": f"{topic} {'filler ' * at}", "quality": float(random.normal())}
        for topic in topics(count)
        for at in range(DOCUMENTS)
    )
    index.commit()
    return Config(
        index.path,
        features=("bm25(title)", "length(title)", "value(quality)"),
        gate=GateSettings(pages=500, confidence=0.8),  # pages are tested with it, not the gate
        limits=Limits(rate=0.0),
        **settings,
    )


def searches(data, ranker, sessions, **how):
    """The click log of people who look by rank and click by grade."""
    looks = {"k": 10, "seed": 0} | how
    return simulate(data, logging_policy=ranker, user=user("pbm", max_label=3), sessions=sessions, **looks)


def put_crowd(service, count, sessions):
    """Pages of people who want quality, in the store as if they had been served."""
    search = service.versions.model("v1").pipeline
    judged = {
        topic: {
            id: int(np.digitize(service.index[id]["quality"], [0.0, 0.7, 1.4]))
            for id in (f"{topic}-{at}" for at in range(DOCUMENTS))
        }
        for topic in topics(count)
    }
    data = search.dataset({topic: topic for topic in topics(count)}, judged, among="retrieved")
    log = searches(data, search.ranker, sessions, randomize="adjacent", rate=0.8)
    put_people(service.store, log, data, version="v1", seed=0)
