"""The service under load on loopback: latency by stage, events, hot swap, memory.

    python benchmarks/serving.py                        100,000 documents
    python benchmarks/serving.py --quick                5,000 documents, few requests
    python benchmarks/serving.py --only events memory   some parts
    python benchmarks/serving.py --only memory --requests 300000
    python benchmarks/serving.py --out serving.jsonl    every row is also written here as it is measured
    python benchmarks/serving.py --folder FOLDER        keeps the index and its forest for the next run

Server and load generator share the machine; the generator is one thread. If a part fails, its error
is printed and the others are measured.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
import traceback
import urllib.request
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.search import Features, Index, Pipeline, first
from rankloop.serve import Service
from results import benchmark, record
from search_latency import corpus
from serving_load import TOKEN, cpu_seconds, every, load, resident, served
from serving_store import databases, event_rates

DOCUMENTS, CANDIDATES, FEATURES, TREES, K = 100_000, 1000, 60, 500, 10
CLIENTS = (1, 8, 32)
REQUESTS = 2000  # for each number of clients
EVENT_BATCHES = {1: 4000, 100: 400}  # events in a request -> requests
SWAPS = 0.25  # seconds between two
MEMORY, STEP = 100_000, 10_000  # requests in all, and between two rows
WARM = 30_000  # requests until caches are full


def main() -> None:
    parts = {"search": search, "events": events, "swap": swap, "memory": memory}
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    options.add_argument("--requests", type=int, default=MEMORY, help="of the part memory")
    options.add_argument("--out", type=Path)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    failed = []
    with (
        nullcontext(given.folder)
        if given.folder
        else tempfile.TemporaryDirectory(prefix="rankloop-serving-") as folder
    ):
        bench = Bench(Path(folder), 20 if given.quick else 1, given.requests, given.out)
        for name in given.only:
            try:
                parts[name](bench)
            except Exception:  # the other parts are measured
                traceback.print_exc()
                failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


@dataclass
class Bench:
    """The folder, how much smaller than in full, the requests, and the file for rows."""

    folder: Path
    scale: int
    requests: int
    out: Path | None

    @cached_property
    def queries(self) -> list[bytes]:
        """Requests to an index with a forest in production, which is made when it is first needed."""
        return prepared(self.folder, DOCUMENTS // self.scale)

    def keep(self, part: str, **row: Any) -> None:
        """Write a row at once, so that a failure of a later part does not lose it."""
        record(part, scale=self.scale, **row)
        if self.out is not None:
            with self.out.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"part": part, "scale": self.scale, **row}) + "\n")


def prepared(folder: Path, documents: int) -> list[bytes]:
    """An index with a forest of 500 trees in production, and BM25 before it; gives requests."""
    index, queries = corpus(folder, documents)
    print(
        f"{documents:,} documents, {CANDIDATES:,} candidates, {FEATURES} features, {TREES} trees, k = {K}; "
        f"server and load generator on the same machine\n"
    )
    names = Features.standard(index).names[:FEATURES]
    settings = {
        "index": str(folder / "latency"),
        "features": list(names),
        "candidates": CANDIDATES,
        "typos": "never",
        "limits": {"rate": 0.0},
    }
    (folder / "serve.toml").write_text(_toml(settings))
    with Service.open(folder / "serve.toml") as service:
        if service.versions.live.production.version == "v1":
            version = service.registry.register(forest(index, names, queries), lineage={"name": "forest"})
            service.versions.promote(version)
    gc.collect()
    return [
        json.dumps({"query": query, "k": K, "user": f"user {i}"}).encode() for i, query in enumerate(queries)
    ]


def forest(index: Index, names: tuple[str, ...], queries: list[str]) -> Pipeline:
    """A forest of the right size; what it learns does not matter here."""
    retrieve, features = index.retriever(k=CANDIDATES), Features(names)
    X = np.concatenate([features.matrix(retrieve(query)) for query in queries[:20]])
    y = np.random.default_rng(0).integers(0, 5, len(X))
    data = RankingDataset(X, y, np.arange(len(X)) // 100, feature_names=names)
    ranker = LambdaMART(trees=TREES, leaves=31, threads=1).fit(data)
    return retrieve >> features >> ranker >> first(K)


def search(bench: Bench) -> None:
    queries, scale = bench.queries, bench.scale
    print(
        "searches; milliseconds at p50 and p99: of a request, and of its stages as the server measures them"
    )
    for workers in dict.fromkeys((1, min(os.cpu_count() or 1, 8))):
        with served(bench.folder / "serve.toml", workers=workers) as (address, process):
            load(address, "/search", queries, clients=4 * workers, requests=400 // scale + 20 * workers)
            for clients in CLIENTS:
                before, own = cpu_seconds(process), time.process_time()
                found = load(address, "/search", queries, clients=clients, requests=REQUESTS // scale)
                own = 1e3 * (time.process_time() - own) / len(found.seconds)
                cpu = 1e3 * (cpu_seconds(process) - before) / len(found.seconds)
                stages = {"request": found.percentiles(), **found.stages()}
                if clients == CLIENTS[0]:
                    names = "".join(f"{name:>18}" for name in stages)
                    print(
                        f"{'workers':>8}{'clients':>8}{'per second':>12}{'CPU ms':>8}{'client':>8}"
                        f"{'failed':>8}{names}"
                    )
                columns = "".join(f"{p50:>9.2f}{p99:>9.2f}" for p50, p99 in stages.values())
                row = f"{workers:>8}{clients:>8}{found.rate:>12.1f}{cpu:>8.2f}{own:>8.2f}{found.failed:>8}"
                print(row + columns, flush=True)
                bench.keep(
                    "search",
                    workers=workers,
                    clients=clients,
                    per_second=found.rate,
                    cpu_ms=cpu,
                    client_cpu_ms=own,
                    failed=found.failed,
                    p50_p99_ms=stages,
                )
    print()


def events(bench: Bench) -> None:
    folder, scale = bench.folder, bench.scale
    queries = bench.queries
    print("events a second: acknowledged, so on disk; and stored")
    print(f"{'':<28}{'events/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'failed':>8}")
    for name, url in databases():
        config = folder / f"{name}.toml"
        config.write_text(
            (folder / "serve.toml").read_text().replace("[limits]", f"database = '{url}'\n[limits]")
        )
        with served(config) as (address, _):
            page = json.loads(load(address, "/search", queries, clients=1, requests=1).bodies[0])
            for size, requests in EVENT_BATCHES.items():
                count = requests // scale
                bodies = [_events(page, size, f"{size}-{number}") for number in range(count)]
                found = load(address, "/events", bodies, clients=8, requests=count)
                p50, p99 = found.percentiles()
                label = f"{name}, {size} in a request"
                print(
                    f"{label:<28}{found.rate * size:>12,.0f}{p50:>9.2f}{p99:>9.2f}{found.failed:>8}",
                    flush=True,
                )
                measured = {"per_second": found.rate * size, "p50_ms": p50, "p99_ms": p99}
                bench.keep("events", what=label, **measured, failed=found.failed)
    for name, rate in event_rates(50_000 // scale):
        label = f"into {name}, in batches"
        print(f"{label:<28}{rate:>12,.0f}", flush=True)
        bench.keep("events", what=label, per_second=rate, p50_ms=None, p99_ms=None, failed=0)
    print()


def swap(bench: Bench) -> None:
    queries = bench.queries
    with served(bench.folder / "serve.toml") as (address, _):
        ended, swaps = threading.Event(), []

        def promote() -> None:
            version = ("v1", "v2")[len(swaps) % 2]
            body = json.dumps({"version": version}).encode()
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(f"{address}models/promote", body, headers)):
                swaps.append(version)

        swapping = threading.Thread(target=every, args=(SWAPS, promote, ended.is_set))
        swapping.start()
        found = load(address, "/search", queries, clients=8, requests=REQUESTS // bench.scale)
        ended.set()
        swapping.join()
    p50, p99 = found.percentiles()
    print(
        f"hot swap under load: {len(found.seconds):,} requests of 8 clients while {len(swaps)} versions were"
    )
    print(f"promoted: {found.failed} failed; p50 {p50:.2f} ms, p99 {p99:.2f} ms\n", flush=True)
    counts = {"requests": len(found.seconds), "swaps": len(swaps), "failed": found.failed}
    bench.keep("swap", **counts, p50_p99_ms=[p50, p99])


def memory(bench: Bench) -> None:
    """Nine searches to a click, in a small index."""
    folder, step = bench.folder, STEP // bench.scale
    small = Index.create(folder / "small", {"title": "text"})
    small.add({"id": i, "title": f"document number {i}"} for i in range(100))
    small.commit()
    (folder / "small.toml").write_text(_toml({"index": str(folder / "small"), "limits": {"rate": 0.0}}))
    bodies = [
        json.dumps({"query": f"number {i}", "user": f"user {i % 5000}"}).encode() for i in range(10_000)
    ]
    print("memory of the server over requests, MB: its own, and files that it maps; and its store on disk")
    print(f"{'requests':>9}{'own':>9}{'files':>9}{'store':>9}{'per second':>12}{'failed':>8}")
    warm: list[float] = []
    with served(folder / "small.toml") as (address, process):
        for done in range(step, bench.requests // bench.scale + 1, step):
            found = load(address, "/search", bodies, clients=8, requests=step * 8 // 10, keep=False)
            shown = load(address, "/search", bodies, clients=8, requests=step // 10)
            clicks = [_events(json.loads(page), 1, "click", kind="click") for page in shown.bodies]
            sent = load(address, "/events", clicks, clients=8, requests=len(clicks), keep=False)
            failed = found.failed + shown.failed + sent.failed
            held, store = resident(process), sum(path.stat().st_size for path in folder.rglob("*.db")) / 2**20
            row = f"{done:>9,}{held.own:>9.1f}{held.files:>9.1f}{store:>9.1f}{found.rate:>12.0f}{failed:>8}"
            print(row, flush=True)
            bench.keep("memory", requests=done, own=held.own, files=held.files, store=store, failed=failed)
            if done >= WARM:
                warm.append(held.own)
    if warm:
        low, high, more = min(warm), max(warm), warm[-1] - warm[0]
        print(
            f"from {WARM:,} requests on its own memory is {low:.1f} to {high:.1f} MB; {more:+.1f} at the end"
        )


def _events(page: dict[str, Any], size: int, name: str, *, kind: str = "viewport") -> bytes:
    common = {"impression": page["impression"], "kind": kind}
    shown = [result["id"] for result in page["results"]]
    return json.dumps(
        {"events": [{"id": f"{name}-{i}", "document": shown[i % len(shown)], **common} for i in range(size)]}
    ).encode()


def _toml(settings: dict[str, Any]) -> str:
    """The few kinds of settings that are used here; tables come last."""
    lines = [
        f"{name} = {json.dumps(value)}" for name, value in settings.items() if not isinstance(value, dict)
    ]
    for name, part in settings.items():
        if isinstance(part, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in part.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    benchmark(main)
