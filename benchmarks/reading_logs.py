"""The memory that reading a click log takes: bytes a row at the peak, and what is kept.

    python benchmarks/reading_logs.py [--rows 12000000] [--folder .]

Sessions, queries and documents have text ids; ten results on a page; each file is read in its own process.
A hundred million rows take 9 GB of disk.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

from results import benchmark, record

RESULTS = 10
QUERIES, DOCUMENTS = 100_000, 200_000
PIECE = 5_000_000  # rows that are made at once
FORMATS = ("parquet", "csv")
GOAL = 8e9  # bytes for a hundred million rows


def make(folder: Path, rows: int) -> None:
    """The same log in each format, made and written in pieces."""
    random = np.random.default_rng(0)
    pieces = []
    with (folder / "log.csv").open("wb") as out:
        for start in range(0, rows, PIECE):
            log = piece(random, start // RESULTS, min(PIECE, rows - start) // RESULTS)
            pieces.append(folder / f"piece-{len(pieces):04d}.parquet")
            log.write_parquet(pieces[-1])
            log.write_csv(out, include_header=start == 0)
            if start == 0:
                log.head(10).write_csv(folder / "small.csv")
    pl.scan_parquet(pieces).sink_parquet(folder / "log.parquet")
    for one in pieces:
        one.unlink()


def piece(random: np.random.Generator, first: int, pages: int) -> pl.DataFrame:
    """Some pages of the log, from a number on."""
    query = np.repeat(random.zipf(1.3, pages) % QUERIES, RESULTS)
    numbers = pl.DataFrame(
        {
            "page": np.repeat(np.arange(first, first + pages), RESULTS),
            "query": query,
            "document": (query * 37 + random.integers(0, 50, len(query))) % DOCUMENTS,
        }
    )
    mixed = pl.col("page") * 2_654_435_761 % 1_000_000_007
    return numbers.select(
        session=pl.format("session-{}", mixed.cast(pl.String).str.zfill(12)),
        query=pl.format("some query text number {}", pl.col("query")),
        document=pl.format("document-{}", pl.col("document")),
        position=pl.int_range(pl.len()) % RESULTS + 1,
        click=pl.Series((random.random(len(query)) < 0.1).astype(np.int8)),
    )


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
    kept, rows = resident() - before, len(log)
    row = {"format": path.suffix[1:], "rows": rows, "peak": (peak - before) / rows, "kept": kept / rows}
    print(json.dumps(row | {"process": peak / 1e9, "seconds": seconds}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=12_000_000)
    parser.add_argument("--folder", type=Path, help="where the files are made, and deleted")
    parser.add_argument("--file", type=Path, help="read this one alone")
    options = parser.parse_args()
    if options.file:
        measure(options.file)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        make(Path(name), options.rows)
        print(f"{options.rows:,} rows; aim for 100,000,000: a process below {GOAL / 1e9:g} GB")
        print(f"{'':8} {'peak':>8} {'kept':>8} {'process':>8} {'':>8}")
        print(f"{'':8} {'B a row':>8} {'B a row':>8} {'GB':>8} {'seconds':>8}", flush=True)
        for format in FORMATS:
            command = [sys.executable, __file__, "--file", f"{name}/log.{format}"]
            row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            record("memory", **row)
            met = (
                "" if row["rows"] < 100_000_000 else "   met" if row["process"] < GOAL / 1e9 else "   MISSED"
            )
            figures = f"{row['peak']:8.0f} {row['kept']:8.0f} {row['process']:8.2f} {row['seconds']:8.1f}"
            print(f"{format:8} {figures}{met}", flush=True)


if __name__ == "__main__":
    benchmark(main)
