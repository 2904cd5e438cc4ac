"""What is killed, and what must be true of what it leaves: an index, versions, exports, learning."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankloop.search import Index, load_pipeline
from rankloop.serve import Config, Store
from rankloop.serve.models.registry import Registry

__all__ = ["FEATURES", "TOPICS", "WHOLE", "WORK", "config_of", "put_pages"]

NOW = 1_700_000_000.0
FEATURES = ("bm25(title)", "value(quality)")
TOPICS = [f"topic{at}" for at in range(20)]
PAGES = 1500


def config_of(folder: Path) -> Config:
    return Config(index=folder / "shop.index", folder=folder / "home", features=FEATURES)


def put_pages(folder: Path) -> None:
    from rankloop.clicks import simulate, user
    from rankloop.demo.people import put_people

    index = Index.open(folder / "shop.index")
    search = load_pipeline(folder / "search.zip", index)
    best = {
        topic: {f"{topic}-{at}": index[f"{topic}-{at}"]["quality"] for at in range(12)} for topic in TOPICS
    }
    grades = {
        topic: {id: int(np.digitize(value, [0.0, 0.7, 1.4])) for id, value in found.items()}
        for topic, found in best.items()
    }
    data = search.dataset({topic: topic for topic in TOPICS}, grades, among="retrieved")
    people = user("pbm", max_label=3)
    log = simulate(
        data, logging_policy=search.ranker, user=people, sessions=PAGES, k=10, randomize="adjacent"
    )
    with Store.open(config_of(folder).database) as store:
        put_people(store, log, data, version="v1", now=NOW, seed=0)


# What is killed: each function does its work for ever, and tells what it has done.


def serve(folder: Path, tell: Callable[[object], None]) -> None:
    from rankloop.serve.http.process import run

    run(config_of(folder), host="127.0.0.1", port=0)


def write_index(folder: Path, tell: Callable[[object], None]) -> None:
    index = Index.open(folder / "shop.index")
    turn = max([index[id]["turn"] for id in index.ids.tolist()], default=-1) + 1
    while True:
        index.update({"id": i, "title": f"fox {i} turn {turn}", "turn": turn} for i in range(40))
        index.delete(range(turn % 5))
        index.compact() if turn % 4 == 3 else index.commit()
        tell(turn)
        turn += 1


def promote(folder: Path, tell: Callable[[object], None]) -> None:
    with Store.open(config_of(folder).database) as store:
        models = Registry(store, config_of(folder).home / "models")
        while True:
            version = models.register(folder / "search.zip", lineage={"made": "here"})
            models.promote(version)
            tell(version)


def export(folder: Path, tell: Callable[[object], None]) -> None:
    with Store.open(config_of(folder).database) as store:
        while True:
            name = f"export-{time.monotonic_ns()}"
            store.export(folder / name)
            tell(name)


def learn(folder: Path, tell: Callable[[object], None]) -> None:
    from rankloop.serve.learning import candidates
    from rankloop.serve.learning.run import learn_once

    candidates.TREES = candidates.JUDGE = 20
    tell("begun")
    while True:
        tell(learn_once(config_of(folder), again=True, now=NOW).state)


# What must be true afterwards; each gives what it counted.


def whole_index(folder: Path, told: list[str]) -> dict[str, int]:
    index = Index.open(folder / "shop.index")
    turns = {index[id]["turn"] for id in index.ids.tolist()}
    newest = int(max(turns, default=-1))
    assert not told or int(told[-1]) <= newest <= int(told[-1]) + 1, "a commit that was told is lost"
    assert len(turns) <= 1, "half of a commit is visible"
    assert len(index) == (0 if newest < 0 else 40 - newest % 5)
    assert sorted(index.retriever(k=100)(f"turn {newest}").ids.tolist()) == sorted(index.ids.tolist())
    index.check()
    return {"commits, none lost, none in part": newest + 1}


def whole_versions(folder: Path, told: list[str]) -> dict[str, int]:
    config = config_of(folder)
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        names, roles = [one.version for one in models.versions()], models.roles()
        assert names == [f"v{at}" for at in range(1, len(names) + 1)]
        assert not told or int(roles.production[1:]) >= int(told[-1][1:]), "a promotion was lost"
        assert len(models.load(roles.production, Index.open(config.index))("topic1")) == 10
        assert len(models.load(names[-1], Index.open(config.index))("topic1")) == 10
    return {"versions, all whole, none lost": len(names)}


def whole_exports(folder: Path, told: list[str]) -> dict[str, int]:
    import polars

    for name in [path.name for path in folder.glob("export-*")]:
        assert polars.read_parquet(folder / name / "pages-*.parquet").height == PAGES
        assert polars.read_parquet(folder / name / "clicks.parquet").height > 0
    assert {name for name in told if not (folder / name).is_dir()} == set(), "an export that was told is lost"
    return {"exports, all whole": len(list(folder.glob("export-*")))}


def whole_learning(folder: Path, told: list[str]) -> dict[str, int]:
    from rankloop.serve.learning.run import runs

    left = whole_versions(folder, [])
    with Store.open(config_of(folder).database) as store:
        states = [one.state for one in runs(store)]
    ended = sum(state != "stopped" for state in states)
    return {"runs begun": len(states), "ended": ended, **left}


WORK = {"service": serve, "index": write_index, "promotion": promote, "export": export, "learning": learn}
WHOLE = {
    "index": whole_index,
    "promotion": whole_versions,
    "export": whole_exports,
    "learning": whole_learning,
}
