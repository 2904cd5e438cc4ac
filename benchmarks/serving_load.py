"""A load generator on loopback: many connections from one thread, so that the server has the rest."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

TOKEN = "the token of the benchmark"
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass
class Load:
    """What came back: seconds of each answer, bodies of 200, and how many requests had no such answer."""

    seconds: list[float]
    bodies: list[bytes]
    failed: int
    wall: float

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall

    def percentiles(self) -> tuple[float, float]:
        """p50 and p99 in milliseconds."""
        p50, p99 = np.percentile(self.seconds, [50, 99]) * 1e3
        return float(p50), float(p99)

    def stages(self) -> dict[str, tuple[float, float]]:
        """p50 and p99 of each stage as the server measures it, in milliseconds."""
        seconds: dict[str, list[float]] = {}
        for body in self.bodies:
            for name, took in json.loads(body)["seconds"].items():
                seconds.setdefault(name, []).append(took)
        return {
            name: (float(np.percentile(took, 50)) * 1e3, float(np.percentile(took, 99)) * 1e3)
            for name, took in seconds.items()
        }


def load(
    address: str, path: str, bodies: Sequence[bytes], *, clients: int, requests: int, keep: bool = True
) -> Load:
    """Send requests over as many connections as there are clients, each waiting for its answers."""
    return asyncio.run(_load(address, path, bodies, clients, requests, keep))


async def _load(
    address: str, path: str, bodies: Sequence[bytes], clients: int, requests: int, keep: bool
) -> Load:
    place = urlsplit(address)
    assert place.hostname is not None
    done = Load([], [], 0, 0.0)
    next_one = iter(range(requests))
    head = (  # the stages of a search are told with the token
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nContent-Length: "
    ).encode()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        for number in next_one:
            body = bodies[number % len(bodies)]
            start = time.perf_counter()
            try:
                writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
                received = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(received)
                assert length is not None
                answer = await reader.readexactly(int(length[1]))
            except (ConnectionError, asyncio.IncompleteReadError):
                done.failed += 1
                writer.close()
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                continue
            done.seconds.append(time.perf_counter() - start)
            if not received.startswith(b"HTTP/1.1 200"):
                done.failed += 1
            elif keep:
                done.bodies.append(answer)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    done.wall = time.perf_counter() - start
    return done


@contextmanager
def served(config: Path, *, workers: int = 1) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A `rankloop serve` of its own: its address and its process."""
    environment = os.environ | {"RANKLOOP_ADMIN_TOKEN": TOKEN}
    process = subprocess.Popen(
        [sys.executable, "-m", "rankloop", "serve", str(config), "--port", "0", "--workers", str(workers)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = next((line.split()[-1] for line in process.stdout if "page " in line), None)
        if address is None:
            raise RuntimeError(f"rankloop serve {config} did not start")
        yield address, process
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class Memory(NamedTuple):
    """Megabytes that a process has in memory: its own, and of files that it maps."""

    own: float
    files: float


def resident(process: subprocess.Popen[str]) -> Memory:
    status = Path(f"/proc/{process.pid}/status").read_text()
    kilobytes = {name: int(value) for name, value in re.findall(r"(Rss\w+):\s+(\d+)", status)}
    return Memory(kilobytes["RssAnon"] / 1024, (kilobytes["RssFile"] + kilobytes["RssShmem"]) / 1024)


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Processor time of a process and of its children, also those that run."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(stat.parent.name) == process.pid or int(fields[1]) == process.pid:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def every(seconds: float, work: Callable[[], None], stop: Callable[[], bool]) -> None:
    """Call a function at intervals until it is stopped."""
    while not stop():
        work()
        time.sleep(seconds)
