"""The memory that reading a click log takes: bytes a row at the peak, and what is kept.

    python benchmarks/reading_logs.py

Sessions, queries and documents have text ids; ten results on a page; each file is read in its own process.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 12_000_000
RESULTS = 10
QUERIES, DOCUMENTS = 100_000, 200_000
FORMATS = ("parquet", "csv")


def make(folder: Path) -> None:
    """The same log in each format."""
    random = np.random.default_rng(0)
    pages = ROWS // RESULTS
    query = np.repeat(random.zipf(1.3, pages) % QUERIES, RESULTS)
    numbers = pl.DataFrame(
        {
            "page": np.repeat(np.arange(pages), RESULTS),
            "query": query,
            "document": (query * 37 + random.integers(0, 50, ROWS)) % DOCUMENTS,
        }
    )
    mixed = pl.col("page") * 2_654_435_761 % 1_000_000_007
    log = numbers.select(
        session=pl.format("session-{}", mixed.cast(pl.String).str.zfill(12)),
        query=pl.format("some query text number {}", pl.col("query")),
        document=pl.format("document-{}", pl.col("document")),
        position=pl.int_range(pl.len()) % RESULTS + 1,
        click=pl.Series((random.random(ROWS) < 0.1).astype(np.int8)),
    )
    log.write_parquet(folder / "log.parquet")
    log.write_csv(folder / "log.csv")
    log.head(10).write_csv(folder / "small.csv")


def resident() -> int:
    """Bytes of this process in memory, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measure(path: Path) -> None:
    from rankloop.clicks import read_clicks

    read_clicks(path.with_name("small.csv"))  # loads what reading needs
    before, peak, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    log = read_clicks(path)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    kept = resident() - before
    print(f"{path.suffix[1:]:8} {(peak - before) / len(log):8.0f} {kept / len(log):8.0f} {seconds:8.1f}")


def main() -> None:
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        print(f"{ROWS:,} rows\n{'':8} {'peak':>8} {'kept':>8} {'seconds':>8}   (bytes a row)", flush=True)
        for format in FORMATS:
            subprocess.run([sys.executable, __file__, str(Path(name) / f"log.{format}")], check=True)


if __name__ == "__main__":
    main()
