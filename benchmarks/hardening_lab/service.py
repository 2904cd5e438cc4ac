"""The service under attack: ordinary searches beside the worst queries.

    python benchmarks/hardening_lab/service.py [--documents 60000] [--seconds 5] [--slices 8]

Server, people and attacker share the machine. People come from an address range each and send at a fixed
rate; a search that waits for its turn to be sent counts as waiting. The attacker sends from one address range
at the rate limit: the worst queries of 500 bytes in turns, the costliest of them alone, or ordinary ones.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from results import benchmark, record
from search_latency import corpus
from serving_load import served

__all__ = ["attack", "clicks"]

PEOPLE, EACH = 8, 4.0  # people, and searches a second of each
RATE = 50.0  # requests a second of the attacker: the limit of one address
BYTES = 500
ATTACKER = "127.0.1.1"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--documents", type=int, default=60_000)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--slices", type=int, default=8)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="rankloop-attack-") as folder:
        config, queries = prepared(Path(folder), given.documents)
        attack(config, queries, seconds=given.seconds, slices=given.slices)


def prepared(folder: Path, documents: int) -> tuple[Path, list[str]]:
    """The config of a service of an index, and ordinary queries."""
    _, queries = corpus(folder, documents)
    config = folder / "serve.toml"
    config.write_text(f"index = {str(folder / 'latency')!r}\ntypos = 'missing'\n")
    return config, queries


def worst(queries: list[str]) -> list[str]:
    """Queries of the longest allowed length that ask for most."""
    letters = [letter for letter, _ in Counter("".join(queries)).most_common(12) if letter.isalpha()]
    a, b = letters[:2]
    units = [f"+{a}* -{b}* ", f"{a}* ", f'"{a} {b}" ', " ".join(f"{one}*" for one in letters) + " "]
    long = [" ".join(queries)[:BYTES]]
    return [(unit * BYTES)[:BYTES] for unit in units] + long


@dataclass
class Answers:
    """Seconds from when each request was due, and how many had each status."""

    seconds: list[float] = field(default_factory=list)
    status: Counter[str] = field(default_factory=Counter)
    wall: float = 0.0

    def row(self, name: str) -> str:
        good = self.status["200"]
        p50, p99 = np.percentile(self.seconds, [50, 99]) * 1e3 if self.seconds else (np.nan, np.nan)
        others = ", ".join(f"{n:,} {status}" for status, n in sorted(self.status.items()) if status != "200")
        return f"{name:<34}{good / self.wall:>10.1f}{p50:>9.1f}{p99:>9.1f}   {others or '-'}"


def _together(answers: list[Answers]) -> Answers:
    every = Answers(wall=max(one.wall for one in answers))
    for one in answers:
        every.seconds += one.seconds
        every.status += one.status
    return every


def _after_another(answers: list[Answers]) -> Answers:
    every = _together(answers)
    every.wall = sum(one.wall for one in answers)
    return every


def attack(config: Path, queries: list[str], *, seconds: float = 5.0, slices: int = 8) -> dict[str, float]:
    """Ordinary searches alone and under each attack, in turns; gives the p99 of each in milliseconds."""
    people = [(f"127.0.{10 + at}.1", queries[at::PEOPLE], EACH) for at in range(PEOPLE)]
    print(f"\n{PEOPLE} people, {EACH:g} searches a second each; the attacker sends {RATE:g} a second")
    print(f"{slices} times {seconds:g} seconds of each, in turns")
    print(f"{'':<34}{'200 / s':>10}{'p50, ms':>9}{'p99, ms':>9}   others")
    with served(config) as (address, _):
        asyncio.run(_sent(address, people, 3.0))
        attacks = {
            "alone": [],
            "worst queries": worst(queries),
            "the costliest query": [asyncio.run(_costliest(address, worst(queries)))],
            "ordinary queries": queries,
        }
        ordinary: dict[str, list[Answers]] = {name: [] for name in attacks}
        attacker: dict[str, list[Answers]] = {name: [] for name in attacks}
        for _ in range(slices):
            for name, sent in attacks.items():
                crowd = [(ATTACKER, sent, RATE)] if sent else []
                answers = asyncio.run(_sent(address, [*people, *crowd], seconds))
                ordinary[name].append(_together(answers[: len(people)]))
                attacker[name] += answers[len(people) :]
    p99 = {}
    for name, several in ordinary.items():
        one = _after_another(several)
        print(one.row(f"people; {name}"), flush=True)
        p50, p99[name] = (float(np.percentile(one.seconds, at)) * 1e3 for at in (50, 99))
        refused = one.status.total() - one.status["200"]
        ratio = p99[name] / p99["alone"]
        record(
            "attack",
            attack=name,
            rate=one.status["200"] / one.wall,
            p50=p50,
            p99=p99[name],
            ratio=ratio,
            refused=refused,
        )
    for name, several in attacker.items():
        if several:
            print(_after_another(several).row(f"attacker; {name}"), flush=True)
    for name in list(attacks)[1:]:
        print(f"p99 is {p99[name] / p99['alone']:.2f} times that alone; {name} (goal: below 2)")
    return p99


async def _costliest(address: str, queries: list[str]) -> str:
    """The query that takes longest while nobody else searches."""
    wire, took = await _connected(address, ATTACKER), {}
    for query in queries:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            await _post(wire, "/search", {"query": query})
            times.append(time.perf_counter() - start)
        took[query] = float(np.median(times))
    wire[1].close()
    return max(took, key=lambda query: took[query])


async def _sent(address: str, senders: list[tuple[str, list[str], float]], seconds: float) -> list[Answers]:
    """What each sender (address, queries, requests a second) got, all at the same time."""
    return list(await asyncio.gather(*(_sender(address, *one, seconds) for one in senders)))


async def _sender(address: str, local: str, queries: list[str], rate: float, seconds: float) -> Answers:
    """Requests when they are due, each on a connection that is free at that moment."""
    got, free = Answers(), asyncio.Queue()
    start = time.perf_counter() + Random(local).random() / rate  # people do not search in step

    async def one(number: int, due: float) -> None:
        wire = free.get_nowait() if not free.empty() else await _connected(address, local)
        body = {"query": queries[number % len(queries)], "user": f"{local} {number % 5}"}
        try:
            status, _ = await _post(wire, "/search", body)
        except (ConnectionError, asyncio.IncompleteReadError):
            got.status["hung up"] += 1
            wire[1].close()
            return
        got.status[status] += 1
        if status == "200":
            got.seconds.append(time.perf_counter() - due)
        free.put_nowait(wire)

    tasks = []
    for number in range(int(seconds * rate)):
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*tasks)
    got.wall = time.perf_counter() - start
    while not free.empty():
        free.get_nowait()[1].close()
    return got


async def clicks(
    address: str,
    queries: list[str],
    name: str,
    acknowledged: set[tuple[str, str]],
    kill: Callable[[], None],
    live: float,
) -> None:
    """Searches, and batches of events on their pages, until the service is gone.

    It is killed `live` seconds after the first batch was acknowledged, and after a minute at the latest.
    """
    loop = asyncio.get_running_loop()
    latest = loop.call_later(60.0, kill)
    before = len(acknowledged)
    try:
        wire = await _connected(address, "127.0.0.1")
        for number in range(1_000_000):
            query = {"query": queries[number % len(queries)]}
            status, page = await _post(wire, "/search", query)
            if status != "200" or not page["results"]:
                continue
            top = page["results"][0]["id"]
            for batch in range(5):
                ids = [f"{name}-{number}-{batch}-{at}" for at in range(20)]
                events = [
                    {"id": id, "impression": page["impression"], "kind": "viewport", "document": top}
                    for id in ids
                ]
                status, answer = await _post(wire, "/events", {"events": events})
                if status == "200" and answer["accepted"] == len(ids):
                    if len(acknowledged) == before:
                        latest.cancel()
                        latest = loop.call_later(live, kill)
                    acknowledged |= {(page["impression"].split(".")[0], id) for id in ids}
    except (OSError, asyncio.IncompleteReadError):
        return
    finally:
        latest.cancel()


_Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connected(address: str, local: str) -> _Wire:
    place = urlsplit(address)
    return await asyncio.open_connection(place.hostname, place.port, local_addr=(local, 0))


async def _post(wire: _Wire, path: str, body: dict) -> tuple[str, dict]:
    reader, writer = wire
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    writer.write(head.encode() + b"\r\n\r\n" + data)
    received = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(received.split("content-length: ")[1].split("\r\n")[0])
    answer = await reader.readexactly(length)
    return received.split(" ", 2)[1], json.loads(answer)


if __name__ == "__main__":
    benchmark(main)
