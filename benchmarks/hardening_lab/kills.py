"""kill -9, again and again: the service under load, and writers of an index, versions, exports and learning.

    python benchmarks/hardening_lab/kills.py [--service 200] [--index 200] [--promotion 100] [--export 60]
                                             [--learning 50] [--slices 10] [--out counts.json]
                                             [--seconds 400]

The kills come in slices, each with an index and a store of its own; those whose counts are in --out already
are not run again, and after --seconds no further one begins. Each slice of a kind has one process that loads
everything once and forks the one that is killed, at a random moment after its work began. What is left is
then read by a process that knows nothing of it.
"""

import argparse
import asyncio
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from killed import FEATURES, TOPICS, WHOLE, WORK, config_of, put_pages

from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve import Service, Store
from rankloop.serve.models.registry import Registry
from results import benchmark, record

__all__ = ["kills_of", "kills_of_service"]

# Seconds that each lives at most.
LONGEST = {"service": 1.5, "index": 1.0, "promotion": 1.0, "export": 2.0, "learning": 6.0}
# What each would load anew after every kill; nothing of it is work that is killed.
LOADED = {"export": "polars", "learning": "rankloop.serve.learning.run"}
PATIENCE = 120.0  # seconds for the first work


KINDS = {"service": 200, "index": 200, "promotion": 100, "export": 60, "learning": 50}
KILLED = {
    "service": "the service under load",
    "index": "a writer of an index",
    "promotion": "promotion",
    "export": "export",
    "learning": "learning",
}


def main() -> None:
    options = argparse.ArgumentParser()
    for name, times in KINDS.items():
        options.add_argument(f"--{name}", type=int, default=times)
    options.add_argument("--slices", type=int, default=10)
    options.add_argument("--out", type=Path)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--fork", nargs=3, metavar=("KIND", "FOLDER", "SEED"))
    given = options.parse_args()
    if given.fork:
        fork(given.fork[0], Path(given.fork[1]), int(given.fork[2]))
        return
    done = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    end = time.monotonic() + given.seconds
    print(f"{'killed':<12}{'times':>7}{'seconds':>9}   what was left", flush=True)
    for part in range(given.slices):
        for kind in KINDS:
            times = len(range(part, getattr(given, kind), given.slices))
            if times and f"{kind} {part}" not in done and time.monotonic() < end:
                done[f"{kind} {part}"] = one_slice(kind, times, part)
                print(row(kind, [done[f"{kind} {part}"]]), flush=True)
                if given.out:
                    replaced(given.out, json.dumps(done, indent=1))
    print("in all", flush=True)
    for kind in KINDS:
        counts = [one for name, one in done.items() if name.split()[0] == kind]
        if counts:
            print(row(kind, counts), flush=True)
            times, _, left = summed(counts)
            record("kills", killed=KILLED[kind], times=times, left=left)


def one_slice(kind: str, times: int, seed: int) -> dict[str, float]:
    """Some kills of one kind: how many, in how many seconds, and what was left."""
    with tempfile.TemporaryDirectory(prefix="rankloop-kills-") as folder:
        start = time.monotonic()
        prepare(kind, Path(folder))
        kill = kills_of_service if kind == "service" else kills_of
        left = kill(kind, Path(folder), times, seed)
        return {"times": times, "seconds": round(time.monotonic() - start), **left}


def row(kind: str, slices: list[dict[str, float]]) -> str:
    """The sum of some slices of a kind."""
    times, seconds, left = summed(slices)
    return f"{kind:<12}{times:>7,}{seconds:>9,}   {left}"


def summed(slices: list[dict[str, float]]) -> tuple[int, int, str]:
    """Kills, seconds and what was left, over some slices."""
    every: Counter[str] = Counter()
    for one in slices:
        every.update(one)
    left = ", ".join(f"{n:,} {what}" for what, n in every.items() if what not in ("times", "seconds"))
    return int(every["times"]), int(every["seconds"]), left


def replaced(path: Path, text: str) -> None:
    """Write a file that is whole at every moment."""
    beside = path.with_suffix(".part")
    beside.write_text(text)
    beside.replace(path)


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
        child = [sys.executable, __file__, "--fork", "people", str(folder), "0"]
        subprocess.run(child, check=True, input="", text=True)


def fork(kind: str, folder: Path, seed: int) -> None:
    """Fork and kill a worker for every line that is read; a service is killed by who reads its address."""
    if kind == "people":
        put_pages(folder)
        return
    if kind == "service":
        from rankloop.serve.http.process import web

        with Service.open(config_of(folder)) as service:  # loaded once, the app as well; its threads end
            service.searcher.warm()
            web(service).load()
    if kind in LOADED:
        import_module(LOADED[kind])
    draw = random.Random(seed)
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
def forking(kind: str, folder: Path, seed: int) -> Iterator[Callable[[], str]]:
    """A function that forks one more worker, and gives the next line that is printed."""
    command = [sys.executable, __file__, "--fork", kind, str(folder), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:

        def line(ask: bool = True) -> str:
            if ask:
                parent.stdin.write("next\n")
                parent.stdin.flush()
            return parent.stdout.readline()

        yield line
        parent.stdin.close()


def kills_of(kind: str, folder: Path, times: int, seed: int) -> dict[str, int]:
    left: dict[str, int] = {}
    with forking(kind, folder, seed) as line:
        for _ in range(times):
            told = line()
            assert told.startswith("told"), f"the process that forks {kind} ended"
            left = WHOLE[kind](folder, told.split()[1:])
    return left


def kills_of_service(kind: str, folder: Path, times: int, seed: int) -> dict[str, int]:
    """Searches and batches of clicks until it is gone; every acknowledged one must be stored."""
    from service import clicks

    draw, acknowledged = random.Random(seed), set()
    with forking(kind, folder, seed) as line:
        for number in range(times):
            child, address = int(line().split()[1]), ""
            while not address:
                printed = line(ask=False)
                assert printed, "the process that forks the service ended"
                address = printed.split()[-1] if "page " in printed else ""
            live = draw.uniform(0.05, LONGEST[kind])  # from the first event that is acknowledged
            kill = partial(os.kill, child, signal.SIGKILL)
            asyncio.run(clicks(address, TOPICS, f"k{number}", acknowledged, kill, live))
            while not line(ask=False).startswith("told"):
                pass
    return all_stored(folder, acknowledged)


def all_stored(folder: Path, acknowledged: set[tuple[str, str]]) -> dict[str, int]:
    with Service.open(config_of(folder)):  # stores what waits, and ends
        pass
    with Store.open(config_of(folder).database) as store, store.reading() as read:
        rows = [tuple(row) for row in read.exec_driver_sql("SELECT page_id, event_id FROM events")]
    lost, twice = len(acknowledged - set(rows)), len(rows) - len(set(rows))
    assert not lost, f"{lost:,} of {len(acknowledged):,} acknowledged events are lost"
    return {"events acknowledged": len(acknowledged), "lost": lost, "twice": twice}


if __name__ == "__main__":
    benchmark(main)
