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
import select
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

from killed import FEATURES, TOPICS, WHOLE, WORK, config_of, put_pages

from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve import Service, Store
from rankloop.serve.models.registry import Registry

__all__ = ["kills_of", "kills_of_service"]

# Seconds that each lives at most.
LONGEST = {"service": 1.5, "index": 1.0, "promotion": 1.0, "export": 2.0, "learning": 6.0}
PATIENCE = 120.0  # seconds for the first work
LOOK = 20  # kills of the service between two counts


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


def fork(kind: str, folder: Path) -> None:
    """Fork and kill a worker for every line that is read; a service is killed by who reads its address."""
    if kind == "people":
        put_pages(folder)
        return
    if kind == "service":
        with Service.open(config_of(folder)) as service:  # kernels are loaded once; its threads end
            service.searcher.warm()
    draw = random.Random(0)
    for turn, _ in enumerate(sys.stdin):
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
            if turn % 2:  # every other one has done something, however busy the machine is
                select.select([reads], [], [], PATIENCE)
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
    """Searches and batches of clicks until it is gone; every acknowledged one must be stored."""
    from service import clicks

    draw, acknowledged, left = random.Random(0), set(), "nothing"
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
            if number % LOOK == LOOK - 1 or number == times - 1:
                left = all_stored(folder, acknowledged)
                print(f"{'':<12}{number + 1:>7,}{'':>9}   {left}", flush=True)
    return left


def all_stored(folder: Path, acknowledged: set[tuple[str, str]]) -> str:
    with Service.open(config_of(folder)):  # stores what waits, and ends
        pass
    with Store.open(config_of(folder).database) as store, store.reading() as read:
        rows = [tuple(row) for row in read.exec_driver_sql("SELECT page_id, event_id FROM events")]
    lost, twice = len(acknowledged - set(rows)), len(rows) - len(set(rows))
    assert not lost, f"{lost:,} of {len(acknowledged):,} acknowledged events are lost"
    return f"{len(acknowledged):,} events acknowledged, {lost:,} lost, {twice:,} twice"


if __name__ == "__main__":
    main()
