"""kill -9, again and again: the service under load, and writers of an index, versions, exports and learning.

    python benchmarks/hardening_lab/kills.py [--service 200] [--index 200] [--promotion 100] [--export 60]
                                             [--learning 50]

Each kind has one process that loads everything once and forks the one that is killed, at a random moment
after its work began. What is left is then read by a process that knows nothing of it.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first, load_pipeline
from rankloop.serve import Config, Service, Store
from rankloop.serve.models.registry import Registry

__all__ = ["kills_of", "kills_of_service"]

NOW = 1_700_000_000.0
FEATURES = ("bm25(title)", "value(quality)")
TOPICS = [f"topic{at}" for at in range(20)]
PAGES = 1500


def main() -> None:
    options = argparse.ArgumentParser()
    for name, times in (
        ("service", 200),
        ("index", 200),
        ("promotion", 100),
        ("export", 60),
        ("learning", 50),
    ):
        options.add_argument(f"--{name}", type=int, default=times)
    options.add_argument("--fork", nargs=2, metavar=("KIND", "FOLDER"))
    given = options.parse_args()
    if given.fork:
        fork(given.fork[0], Path(given.fork[1]))
        return
    print(f"{'killed':<12}{'times':>7}{'seconds':>9}   what was left", flush=True)
    for kind in WORK:
        times = getattr(given, kind)
        if times:
            with tempfile.TemporaryDirectory(prefix="rankloop-kills-") as folder:
                start = time.monotonic()
                prepare(kind, Path(folder))
                left = (kills_of_service if kind == "service" else kills_of)(kind, Path(folder), times)
                print(f"{kind:<12}{times:>7,}{time.monotonic() - start:>9,.0f}   {left}", flush=True)


def prepare(kind: str, folder: Path) -> None:
    """A shop; for learning and exports also what people searched and clicked."""
    rng = np.random.default_rng(0)
    index = Index.create(folder / "shop.index", {"title": "text", "quality": "number", "turn": "number"})
    if kind == "index":
        return
    index.add(
        {"id": f"{topic}-{at}", "title": topic, "quality": float(rng.normal()), "turn": 0}
        for topic in TOPICS
        for at in range(12)
    )
    index.commit()
    search = index.retriever(k=50) >> Features(FEATURES)
    search = search >> FeatureSum({"bm25(title)": 1.0}, features=FEATURES) >> first(10)
    search.save(folder / "search.zip")
    with Store.open(config_of(folder).database) as store:
        models = Registry(store, config_of(folder).home / "models")
        models.promote(models.register(folder / "search.zip", lineage={"made": "here"}))
    if kind in ("export", "learning"):
        child = [sys.executable, __file__, "--fork", "people", str(folder)]
        subprocess.run(child, check=True, input="", text=True)


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
    people = user("pbm", max_grade=3)
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


def whole_index(folder: Path, told: list[str]) -> str:
    index = Index.open(folder / "shop.index")
    turns = {index[id]["turn"] for id in index.ids.tolist()}
    newest = int(max(turns, default=-1))
    assert not told or int(told[-1]) <= newest <= int(told[-1]) + 1, "a commit that was told is lost"
    assert len(turns) <= 1, "half of a commit is visible"
    assert len(index) == (0 if newest < 0 else 40 - newest % 5)
    assert sorted(index.retriever(k=100)(f"turn {newest}").ids.tolist()) == sorted(index.ids.tolist())
    index.check()
    return f"{newest + 1:,} commits, none lost, none in halves"


def whole_versions(folder: Path, told: list[str]) -> str:
    config = config_of(folder)
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        names, roles = [one.version for one in models.versions()], models.roles()
        assert names == [f"v{at}" for at in range(1, len(names) + 1)]
        assert not told or int(roles.production[1:]) >= int(told[-1][1:]), "a promotion was lost"
        assert len(models.load(roles.production, Index.open(config.index))("topic1")) == 10
        assert len(models.load(names[-1], Index.open(config.index))("topic1")) == 10
    return f"{len(names):,} versions, all whole, none lost"


def whole_exports(folder: Path, told: list[str]) -> str:
    import polars

    for name in [path.name for path in folder.glob("export-*")]:
        assert polars.read_parquet(folder / name / "pages-*.parquet").height == PAGES
        assert polars.read_parquet(folder / name / "clicks.parquet").height > 0
    assert {name for name in told if not (folder / name).is_dir()} == set(), "an export that was told is lost"
    return f"{len(list(folder.glob('export-*'))):,} exports, all whole"


def whole_learning(folder: Path, told: list[str]) -> str:
    from rankloop.serve.learning.run import runs

    left = whole_versions(folder, [])
    with Store.open(config_of(folder).database) as store:
        states = [one.state for one in runs(store)]
    return f"{len(states):,} runs begun, {sum(state != 'stopped' for state in states):,} ended; {left}"


WORK = {"service": serve, "index": write_index, "promotion": promote, "export": export, "learning": learn}
WHOLE = {
    "index": whole_index,
    "promotion": whole_versions,
    "export": whole_exports,
    "learning": whole_learning,
}
# Seconds that each lives at most.
LONGEST = {"service": 1.5, "index": 1.0, "promotion": 1.0, "export": 2.0, "learning": 6.0}


def fork(kind: str, folder: Path) -> None:
    """Fork and kill a worker for every line that is read; a service is killed by who reads its address."""
    if kind == "people":
        put_pages(folder)
        return
    if kind == "service":
        with Service.open(config_of(folder)) as service:  # kernels are loaded once; its threads end
            service.searcher.warm()
    draw = random.Random(0)
    for _ in sys.stdin:
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            WORK[kind](folder, partial(tell, writes))
            os._exit(1)
        os.close(writes)
        if kind == "service":
            print(f"pid {child}", flush=True)
        else:
            time.sleep(draw.uniform(0.005, LONGEST[kind]))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        told = os.read(reads, 1 << 20).decode() if kind != "service" else ""
        os.close(reads)
        assert os.WIFSIGNALED(status) or kind == "service", f"a {kind} ended by itself"
        print(f"told {told}", flush=True)


def tell(pipe: int, done: object) -> None:
    os.write(pipe, f"{done} ".encode())


@contextmanager
def forking(kind: str, folder: Path) -> Iterator[Callable[[], str]]:
    """A function that forks one more worker, and gives the next line that is printed."""
    command = [sys.executable, __file__, "--fork", kind, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:

        def line(ask: bool = True) -> str:
            if ask:
                parent.stdin.write("next\n")
                parent.stdin.flush()
            return parent.stdout.readline()

        yield line
        parent.stdin.close()


def kills_of(kind: str, folder: Path, times: int) -> str:
    left = "nothing"
    with forking(kind, folder) as line:
        for _ in range(times):
            told = line()
            assert told.startswith("told"), f"the process that forks {kind} ended"
            left = WHOLE[kind](folder, told.split()[1:])
    return left


def kills_of_service(kind: str, folder: Path, times: int) -> str:
    """Searches and batches of clicks until it is gone; at the end every acknowledged one must be stored."""
    from service import clicks

    draw, acknowledged = random.Random(0), set()
    with forking(kind, folder) as line:
        for number in range(times):
            child, address = int(line().split()[1]), ""
            while not address:
                printed = line(ask=False)
                address = printed.split()[-1] if "page " in printed else ""
            live = draw.uniform(0.05, LONGEST[kind])  # from the first event that is acknowledged
            kill = partial(os.kill, child, signal.SIGKILL)
            asyncio.run(clicks(address, TOPICS, f"k{number}", acknowledged, kill, live))
            while not line(ask=False).startswith("told"):
                pass
    with Service.open(config_of(folder)):  # stores what waits, and ends
        pass
    with Store.open(config_of(folder).database) as store, store.reading() as read:
        rows = [tuple(row) for row in read.exec_driver_sql("SELECT page_id, event_id FROM events")]
    lost, twice = len(acknowledged - set(rows)), len(rows) - len(set(rows))
    assert not lost, f"{lost:,} of {len(acknowledged):,} acknowledged events are lost"
    return f"{len(acknowledged):,} events acknowledged, {lost:,} lost, {twice:,} twice"


if __name__ == "__main__":
    main()
